"""Functions of Penstock's own that may know the results of a whole batch at once."""

from __future__ import annotations

from abc import ABC, abstractmethod

from penstock.common.batch import Batch
from penstock.common.typeinfo import TypeInformation


class ColumnarFunction(ABC):
    """A function of single records, around one of the program, which the optimizer may let work on columns."""

    @abstractmethod
    def over_columns(self, record_type: TypeInformation, output_type: TypeInformation | None) -> ColumnarFunction:
        """The function for records that come as columns; raises `NotTraceable` where it has to see each of them."""

    @abstractmethod
    def results_of(self, batch: Batch) -> Batch | None:
        """The results of all records of a batch; None where the function has to be called for each."""
