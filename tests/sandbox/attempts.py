"""Programs that try to get out of the sandbox, to take more than their share, or to look at others' data.

Each prints `GOT` if it got what it wanted; what it may print beside that is no matter.
"""

from dataclasses import dataclass
from typing import Final

GOT: Final = "GOT IT"
SECRET: Final = "quince-8842"  # In a file, a variable and a process of the host


@dataclass(frozen=True, slots=True)
class Attempt:
    name: str
    code: str


def _quietly(body: str) -> str:
    """A program that does not end with its first error."""
    indented = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    return f"try:\n{indented}\nexcept BaseException as error:\n    print(type(error).__name__)"


def _reads(path: str) -> str:
    """`{host}` stands for a folder of the host with a secret."""
    return _quietly(f'if open("{path}", "rb").read(100):\n    print("{GOT}")')


def _does(body: str) -> str:
    return _quietly(f'{body}\nprint("{GOT}")')


HOST_FILES: Final = (
    [
        Attempt(f"read {path}", _reads(path))
        for path in (
            "/etc/passwd",
            "/etc/hostname",
            "/proc/self/environ",
            "/proc/1/cmdline",
            "/dev/zero",
            "/dev/mem",
            "/sys/kernel/version",
            "/root/.bash_history",
            "{host}/secret.txt",
            "/files/../../etc/passwd",
            "/files/../../../../{host}/secret.txt",
            "../../../../../etc/passwd",
            "/out/../../etc/passwd",
            "/usr/local/lib/../../../etc/passwd",
            "/usr/local/lib/../lib/../../../proc/self/environ",
            "/tmp/../../tmp/../etc/passwd",  # noqa: S108 -- in the sandbox
            "//etc/passwd",
            "/./etc/passwd",
            "file:///etc/passwd",
            "\\\\etc\\\\passwd",
            "/dev/fd/0",
            "/dev/stdin",
        )
    ]
    + [
        Attempt(
            "list the host's root",
            _quietly(f'import os\nif {{"etc", "home", "root"}} & {{*os.listdir("/")}}:\n    print("{GOT}")'),
        ),
        Attempt("list above the root", _quietly(f'import os\nif "etc" in os.listdir("/../.."):\n    print("{GOT}")')),
        Attempt(
            "find the secret anywhere",
            _quietly(f"""
import os
for folder, _, names in os.walk("/"):
    for name in names:
        path = os.path.join(folder, name)
        if not path.startswith(("/usr", "/code.py")) and b"{SECRET[:6]}" in open(path, "rb").read(1000):
            print("{GOT}")
"""),
        ),
        Attempt(
            "read it through a descriptor",
            _quietly(f"""
import os
for number in range(3, 64):
    try:
        if b"{SECRET[:6]}" in os.read(number, 1000):
            print("{GOT}")
    except OSError:
        pass
"""),
        ),
        Attempt(
            "open relative to a descriptor",
            _quietly(f"""
import os
for number in range(3, 32):
    for path in ("../etc/passwd", "../../etc/passwd", "etc/passwd"):
        try:
            os.open(path, os.O_RDONLY, dir_fd=number)
            print("{GOT}")
        except (OSError, ValueError, NotImplementedError):
            pass
"""),
        ),
        Attempt(
            "read a copy of the library's folder above it",
            _quietly(f"""
import os
for path in ("/usr/local/lib/..", "/usr/local", "/usr"):
    try:
        if {{*os.listdir(path)}} - {{"lib", "local", "usr", "code.py", "files", "out", "tmp"}}:
            print("{GOT}")
    except OSError:
        pass
"""),
        ),
    ]
)

WRITES: Final = [
    Attempt(f"write {path}", _does(f'open("{path}", "wb").write(b"x")'))
    for path in (
        "/files/sales.csv",
        "/files/new.csv",
        "/code.py",
        "/usr/local/lib/python315.zip",
        "/usr/local/lib/evil.py",
        "/etc/cron.d/x",
        "{host}/new.txt",
        "/out/../../../tmp/x",
        "/out/" + "x" * 300,
        "/out/" + "d/" * 600 + "x",
        "/out/a\\x00b",
    )
] + [
    Attempt("remove a given file", _does('import os\nos.remove("/files/sales.csv")')),
    Attempt("rename a given file", _does('import os\nos.rename("/files/sales.csv", "/out/sales.csv")')),
    Attempt(
        "rename over a given file",
        _does('import os\nopen("/out/x", "w").close()\nos.rename("/out/x", "/files/sales.csv")'),
    ),
    Attempt("remove the folder of results", _does('import os\nos.rmdir("/out")')),
    Attempt("link to the host", _does('import os\nos.symlink("/etc/passwd", "/out/link")')),
    Attempt(
        "link out of the folder", _does('import os\nos.symlink("../../etc", "/out/link")\nopen("/out/link/passwd")')
    ),
    Attempt("link a given file hard", _does('import os\nos.link("/files/sales.csv", "/out/hard")')),
    Attempt("make a device", _does('import os\nos.mknod("/out/zero", 0o20666, 261)')),
    Attempt("make a pipe", _does('import os\nos.mkfifo("/out/pipe")')),
    Attempt("change rights", _does('import os\nos.chmod("/files/sales.csv", 0o777)\nopen("/files/sales.csv", "w")')),
]

ENVIRONMENT: Final = [
    Attempt(
        "the bot's environment",
        _quietly(f'import os\nif "{SECRET[:6]}" in str(dict(os.environ)) or "PATH" in os.environ:\n    print("{GOT}")'),
    ),
    Attempt(
        "the bot's arguments",
        _quietly(f'import sys\nif "sandbox_process" in str(sys.argv + sys.orig_argv):\n    print("{GOT}")'),
    ),
    Attempt("the user", _does("import os\nos.getlogin()")),
    Attempt("the user's number", _does("import os\nos.getuid()\nimport pwd\npwd.getpwuid(0)")),
    Attempt(
        "the host's name",
        _quietly(f'import platform, socket\nif platform.node() not in ("", "(none)"):\n    print("{GOT}")'),
    ),
]

NETWORK: Final = [
    Attempt("a socket", _does('import socket\nsocket.socket().connect(("127.0.0.1", {port}))')),
    Attempt("a connection", _does('import socket\nsocket.create_connection(("127.0.0.1", {port}), 2)')),
    Attempt("a server", _does('import socket\ns = socket.socket()\ns.bind(("127.0.0.1", 0))\ns.listen()')),
    Attempt(
        "a socket of the system", _does('import socket\nsocket.socket(socket.AF_UNIX).connect("/var/run/docker.sock")')
    ),
    Attempt("a page", _does('import urllib.request\nurllib.request.urlopen("http://127.0.0.1:{port}", timeout=2)')),
    Attempt(
        "a page by http.client",
        _does(
            'import http.client\nc = http.client.HTTPConnection("127.0.0.1", {port}, timeout=2)\nc.request("GET", "/")'
        ),
    ),
    Attempt("a table from the web", _does('import pandas\npandas.read_csv("http://127.0.0.1:{port}/x.csv")')),
    Attempt("a name", _does('import socket\nsocket.getaddrinfo("example.com", 80)')),
    Attempt("a socket of asyncio", _does('import asyncio\nasyncio.run(asyncio.open_connection("127.0.0.1", {port}))')),
    Attempt(
        "an adopted descriptor",
        _quietly(f"""
import socket
for number in range(0, 32):
    try:
        socket.socket(fileno=number).send(b"x")
        print("{GOT}")
    except (OSError, AttributeError):
        pass
"""),
    ),
]

PROCESSES: Final = [
    Attempt("a shell", _quietly(f'import os\nif os.system("echo") == 0:\n    print("{GOT}")')),
    Attempt("a process", _does('import subprocess\nsubprocess.run(["/bin/true"], check=True)')),
    Attempt("a fork", _does("import os\nos.fork()")),
    Attempt("a spawn", _does('import os\nos.posix_spawn("/bin/true", ["true"], {})')),
    Attempt("another program", _does('import os\nos.execv("/bin/true", ["true"])')),
    Attempt(
        "a worker process",
        _does("import multiprocessing\np = multiprocessing.Process(target=print)\np.start()\np.join()"),
    ),
    Attempt("a signal to the bot", _does("import os\nos.kill(os.getppid(), 9)")),
    Attempt("a thread", _does("import threading\nt = threading.Thread(target=print)\nt.start()")),
    Attempt("a library of the system", _does('import ctypes\nctypes.CDLL("libc.so.6").getpid()')),
    Attempt("a function of the system", _does("import ctypes\nctypes.CDLL(None).system(b'echo')")),
    Attempt("the host's functions", _does("from host import tools\ntools.anything()")),
    Attempt("a module of the bot", _does("import bot.chat.core")),
    Attempt("a package from the web", _does('import pip\npip.main(["install", "x"])')),
]

# What other programs and people do at the same time. How long its own code takes, each program can measure.
NEIGHBORS: Final = [
    *(
        Attempt(f"read {path}", _reads(path))
        for path in ("/proc/loadavg", "/proc/stat", "/proc/uptime", "/proc/meminfo", "/proc/net/tcp")
    ),
    Attempt("the load of the machine", _does("import os\nos.getloadavg()")),
    Attempt("the machine's start", _does("import time\ntime.clock_gettime(time.CLOCK_BOOTTIME)")),
    Attempt("the use of others", _does("import resource\nresource.getrusage(resource.RUSAGE_CHILDREN)")),
    Attempt(
        "the times of files",
        _quietly(f"""
import os
times = {{time for path in ("/files/sales.csv", "/code.py", "/files", "/out") for time in os.stat(path)[7:10]}}
if times != {{1_000_000_000}}:
    print("{GOT}", times)
"""),
    ),
    Attempt(
        "the numbers of files",
        _quietly(f"""
import os
numbers = {{os.stat(path).st_uid + os.stat(path).st_gid for path in ("/files/sales.csv", "/code.py", "/out")}}
if numbers != {{0}}:
    print("{GOT}", numbers)
"""),
    ),
]

ALL: Final = [*HOST_FILES, *WRITES, *ENVIRONMENT, *NETWORK, *PROCESSES, *NEIGHBORS]
