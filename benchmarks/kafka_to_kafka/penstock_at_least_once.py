"""Copies a topic with Penstock, at least once."""

from __future__ import annotations

from kafka_to_kafka.penstock_copy import copy_topic
from penstock.datastream.connectors.base import DeliveryGuarantee

if __name__ == "__main__":
    copy_topic(DeliveryGuarantee.AT_LEAST_ONCE)
