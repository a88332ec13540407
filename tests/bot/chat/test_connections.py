"""What platforms register once they are connected."""

from dataclasses import replace

import pytest

from bot.chat.reply.surface import PageUnsent
from tests.fakes.clock import FakeClock
from tests.fakes.hosts import connections_of
from tests.fakes.incoming import said
from tests.fakes.store import store_in_memory
from tests.fakes.surface import FakeSurface


def test_an_answer_for_a_platform_that_is_not_connected_is_postponed() -> None:
    clock = FakeClock()
    connections, surface = connections_of(store_in_memory(), clock), FakeSurface(clock)
    connections.register_surface("test", lambda _: surface)
    assert connections.sources() == {"test"}
    assert connections.surface_for(replace(said("Hello?"), source="test")) is surface
    with pytest.raises(PageUnsent, match="elsewhere is not connected"):
        connections.surface_for(replace(said("Hello?"), source="elsewhere"))
