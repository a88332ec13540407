"""What the chat bot says to operators."""

OUTPUT_CLOSED = "The output cannot be written ({reason}). Send it somewhere else."
THIS_CLOCK = "this machine's clock "
CLOCK_RIGHT = THIS_CLOCK + "agrees with {name}'s"
CLOCK_OFF = THIS_CLOCK + "differs from {name}'s by {seconds} seconds{matters}"
SET_CLOCK = "Turn on network time (NTP)."
CERTIFICATE_NOT_TRUSTED = (
    "its certificate is not trusted here ({problem}); if your company or its proxy issued it, set SSL_CERT_FILE to a "
    "file that contains both the public certificate authorities and your company's (docs/proxy.md)"
)
PORT_IN_USE = (
    "{setting}: port {port} on {host} is already in use. Stop the program that uses it, or choose another port."
)
CANNOT_LISTEN = "{setting}: cannot listen on {host}:{port} ({reason}). Choose another address or port."
BODY_COMPRESSED = "Compressed requests are not supported. Send the body without Content-Encoding."
BODY_TOO_LONG = "The body is too large. The limit is {limit:,} bytes."
BODY_TOO_SLOW = "The body took too long to arrive. Send it again."
BODY_INCOMPLETE = "The body is incomplete. Send it again."
SEALING_KEY_WRONG = "{where} must contain 32 random bytes as base64. To create them, run `openssl rand -base64 32`."
SEALING_KEY_OPEN = "{name} points to {file}, which other users can read. Run `chmod 600 {file}`."
SEALING_KEY_UNREADABLE = (
    "{name} points to {file}, which cannot be read. It must be a text file that you have permission to read."
)
