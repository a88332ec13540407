"""A collector to which OpenTelemetry's exporters send spans, by OTLP over HTTP."""

import gzip
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class OtlpCollector:
    url: str = ""
    bodies: list[bytes] = field(default_factory=list[bytes])
    spans: list[Span] = field(default_factory=list[Span])
    resource: dict[str, object] = field(default_factory=dict[str, object])
    headers: dict[str, str] = field(default_factory=dict[str, str])

    async def taken(self, request: web.Request) -> web.Response:
        body = await request.read()
        body = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
        self.bodies.append(body)
        self.headers = {name.lower(): value for name, value in request.headers.items()}
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resource = attributes(resource.resource.attributes)
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        return web.Response(body=b"", content_type="application/x-protobuf")

    def below(self, span: Span) -> list[Span]:
        """Return its children, in their order."""
        found = [one for one in self.spans if one.parent_span_id == span.span_id]
        return sorted(found, key=lambda one: (one.start_time_unix_nano, one.end_time_unix_nano))


def attributes(pairs: Sequence[KeyValue]) -> dict[str, object]:
    def value(pair: KeyValue) -> object:
        match pair.value.WhichOneof("value"):
            case "int_value":
                return pair.value.int_value
            case "double_value":
                return pair.value.double_value
            case "bool_value":
                return pair.value.bool_value
            case _:
                return pair.value.string_value

    return {pair.key: value(pair) for pair in pairs}


@asynccontextmanager
async def collecting() -> AsyncGenerator[OtlpCollector]:
    collector, app = OtlpCollector(), web.Application()
    app.router.add_post("/v1/traces", collector.taken)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    collector.url = site.name
    try:
        yield collector
    finally:
        await runner.cleanup()
