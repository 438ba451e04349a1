from __future__ import annotations

from pathlib import Path

import penstock
from penstock.common.call_site import CallSite, capture_call_site, is_own_file

_PACKAGE = Path(penstock.__file__).resolve().parent


def _called_from(filename: str) -> CallSite:
    names = {"capture": capture_call_site}
    exec(compile("found = capture()", filename, "exec"), names)
    return names["found"]  # pyright: ignore[reportReturnType]


def test_the_call_site_is_the_line_that_called() -> None:
    site = capture_call_site()
    assert site.file == __file__
    assert site.code == "site = capture_call_site()"


def test_frames_of_penstock_itself_are_passed_over() -> None:
    assert is_own_file(str(_PACKAGE / "plan" / "builder.py"))
    assert _called_from(str(_PACKAGE / "plan" / "builder.py")).file == __file__


def test_a_package_beside_penstock_whose_name_begins_with_it_is_the_users() -> None:
    beside = str(_PACKAGE.parent / "penstock_jobs" / "payments.py")
    assert not is_own_file(beside)
    assert _called_from(beside) == CallSite(beside, 1, "")
