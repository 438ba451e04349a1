"""A sink that stages output, and has nobody who would publish it."""

from __future__ import annotations

import pytest

from penstock.common.batch import Batch
from penstock.common.errors import JobExecutionException
from penstock.connectors.sink import DeliveryGuarantee, Sink, SinkWriter, SinkWriterContext, Token
from penstock.testing import local_environment


class Stages(SinkWriter):
    def write(self, batch: Batch) -> None:
        pass

    def prepare_commit(self) -> list[Token]:
        return [{"path": "somewhere"}]


class HalfASink(Sink):
    @property
    def guarantee(self) -> DeliveryGuarantee:
        return DeliveryGuarantee.AT_LEAST_ONCE

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return Stages()


def test_output_that_nobody_publishes_fails_the_job() -> None:
    env = local_environment()
    env.from_collection([1]).sink_to(HalfASink()).name("half").uid("half")
    with pytest.raises(
        JobExecutionException, match=r"'half' \(uid half\) has staged output, and nobody would publish it"
    ):
        env.execute()
