"""A store that speaks as much of S3's protocol as its clients need to read, write, list, copy and remove objects.

It looks at no signatures, and keeps all objects in memory.
"""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

MODIFIED = "2024-01-01T00:00:00.000Z"
MODIFIED_HEADER = "Mon, 01 Jan 2024 00:00:00 GMT"


@dataclass
class ObjectStore:
    """Buckets with objects, and where they are served."""

    objects: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """By `bucket/key`."""
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict[str, dict[int, bytes]])
    calls: list[str] = field(default_factory=list[str])
    """Methods and paths, in their order."""
    address: str = ""

    def environment(self) -> dict[str, str]:
        """What makes clients of S3 come here."""
        return {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "eu-central-1",
            "AWS_REGION": "eu-central-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ALLOW_HTTP": "true",
        }


@contextmanager
def running_object_store() -> Generator[ObjectStore]:
    """Serves a store on a free port of the loopback."""
    store = ObjectStore()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(store))
    server.daemon_threads = True
    store.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()


def _handler_of(store: ObjectStore) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # an answer is one piece: the other side would wait before it says that it has the first

        def parse_request(self) -> bool:
            if not super().parse_request():
                return False
            url = urlsplit(self.path)
            self.query = parse_qs(url.query, keep_blank_values=True)
            self.name = unquote(url.path).strip("/") if url.path.count("/") == 1 else unquote(url.path).lstrip("/")
            store.calls.append(f"{self.command} {self.path}")
            return True

        def handle_expect_100(self) -> bool:
            super().handle_expect_100()
            self.wfile.flush()  # clients wait a second for it
            return True

        def do_GET(self) -> None:
            if "list-type" in self.query:
                self.list_objects()
            else:
                self.get_object(with_content=True)

        def do_HEAD(self) -> None:
            if "/" in self.name:
                self.get_object(with_content=False)
            else:
                self.answer(200)

        def do_PUT(self) -> None:
            body = self.body()
            source = self.headers.get("x-amz-copy-source")
            if source is not None:
                content = store.objects.get(unquote(source).lstrip("/"))
                if content is None:
                    self.refuse(404, "NoSuchKey")
                    return
                store.objects[self.name] = content
                self.answer(200, f"<CopyObjectResult><ETag>{_tag(content)}</ETag></CopyObjectResult>")
            elif "uploadId" in self.query:
                store.uploads[self.query["uploadId"][0]][int(self.query["partNumber"][0])] = body
                self.answer(200, headers={"ETag": _tag(body)})
            else:
                store.objects[self.name] = body
                self.answer(200, headers={"ETag": _tag(body)})

        def do_POST(self) -> None:
            body = self.body()
            if "uploads" in self.query:
                upload = uuid.uuid4().hex
                store.uploads[upload] = {}
                self.answer(
                    200,
                    f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>",
                )
            elif "uploadId" in self.query:
                parts = store.uploads.pop(self.query["uploadId"][0])
                content = b"".join(parts[number] for number in sorted(parts))
                store.objects[self.name] = content
                self.answer(
                    200, f"<CompleteMultipartUploadResult><ETag>{_tag(content)}</ETag></CompleteMultipartUploadResult>"
                )
            elif "delete" in self.query:
                for key in ElementTree.fromstring(body).iter():
                    if key.tag.endswith("}Key") or key.tag == "Key":
                        store.objects.pop(f"{self.name}/{key.text}", None)
                self.answer(200, "<DeleteResult/>")
            else:
                self.refuse(400, "NotUnderstood")

        def do_DELETE(self) -> None:
            if "uploadId" in self.query:
                store.uploads.pop(self.query["uploadId"][0], None)
            else:
                store.objects.pop(self.name, None)
            self.answer(204)

        def get_object(self, *, with_content: bool) -> None:
            content = store.objects.get(self.name)
            if content is None:
                self.refuse(404, "NoSuchKey")
                return
            headers = {"ETag": _tag(content), "Last-Modified": MODIFIED_HEADER, "Accept-Ranges": "bytes"}
            wanted = self.headers.get("Range")
            status, part = 200, content
            if wanted is not None:
                first, _, last = wanted.removeprefix("bytes=").partition("-")
                start, end = int(first), min(int(last) if last else len(content) - 1, len(content) - 1)
                if start >= len(content):
                    self.refuse(416, "InvalidRange")
                    return
                status, part = 206, content[start : end + 1]
                headers["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
            self.answer(status, part, headers=headers, with_content=with_content)

        def list_objects(self) -> None:
            bucket = self.name
            prefix = self.query.get("prefix", [""])[0]
            delimiter = self.query.get("delimiter", [""])[0]
            after = self.query.get("start-after", [""])[0]
            keys = sorted(name.partition("/")[2] for name in store.objects if name.startswith(f"{bucket}/{prefix}"))
            contents, prefixes = [], []
            for key in (key for key in keys if key > after):
                rest = key[len(prefix) :]
                if delimiter and delimiter in rest:
                    common = prefix + rest.partition(delimiter)[0] + delimiter
                    if common not in prefixes:
                        prefixes.append(common)
                else:
                    contents.append(key)
            limit = int(self.query.get("max-keys", ["1000"])[0])
            listed = [
                f"<Contents><Key>{escape(key)}</Key><LastModified>{MODIFIED}</LastModified>"
                f"<ETag>{_tag(store.objects[f'{bucket}/{key}'])}</ETag>"
                f"<Size>{len(store.objects[f'{bucket}/{key}'])}</Size></Contents>"
                for key in contents[:limit]
            ]
            common = [f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in prefixes]
            self.answer(
                200,
                f"<ListBucketResult><Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix>"
                f"<KeyCount>{len(listed) + len(common)}</KeyCount><IsTruncated>false</IsTruncated>"
                f"{''.join(listed)}{''.join(common)}</ListBucketResult>",
            )

        def body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
                content = self.chunks()
            else:
                content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if "aws-chunked" in self.headers.get("Content-Encoding", "") or self.headers.get(
                "x-amz-decoded-content-length"
            ):
                content = _without_chunks(content)
            return content

        def chunks(self) -> bytes:
            content = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return content

        def refuse(self, status: int, code: str) -> None:
            self.answer(status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>")

        def answer(
            self,
            status: int,
            content: str | bytes = b"",
            *,
            headers: dict[str, str] | None = None,
            with_content: bool = True,
        ) -> None:
            body = content.encode() if isinstance(content, str) else content
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            if isinstance(content, str):
                self.send_header("Content-Type", "application/xml")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if with_content and self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            return

    return Handler


def _tag(content: bytes) -> str:
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'


def _without_chunks(content: bytes) -> bytes:
    """Amazon's own chunks, whose lengths and signatures stand in the body."""
    whole = b""
    while content:
        head, _, content = content.partition(b"\r\n")
        size = int(head.split(b";")[0], 16)
        if not size:
            break
        whole, content = whole + content[:size], content[size + 2 :]
    return whole
