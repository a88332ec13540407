"""For clients of servers on this machine, which speak HTTP without TLS."""

import ssl
from typing import Final

# Trusts nobody. A client without a context reads the system's authorities, which takes longer than most requests.
NO_AUTHORITIES: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
