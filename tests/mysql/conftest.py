"""Tests against a MySQL or MariaDB server of yours: collected only where PENSTOCK_MYSQL_URL names one.

The URL is `jdbc:mysql://host:port/database?user=...&password=...`; tables are made and dropped in that database.
"""

from __future__ import annotations

import os

URL = os.environ.get("PENSTOCK_MYSQL_URL")
collect_ignore_glob = [] if URL else ["test_*.py"]
