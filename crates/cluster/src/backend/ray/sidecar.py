"""The driver's end of Ray: does what heist's driver asks for, in the driver's own Python.

Both sides speak through a socket, which comes as the standard input. A message is a frame of
heist with a header in JSON; the payload is a request or an answer that only the program's
library understands, or data. The first message says what to connect to. When the driver has
gone, so does this process.
"""

import os
import select
import shutil
import socket
import sys
import threading
import time

from frames import frame, read

# How long the head of the cluster has to accept a connection.
REACH_PATIENCE_S = 10
# How long Ray may take to say goodbye.
GOODBYE_S = 3
# The oldest release of Ray that is tried.
OLDEST = (2, 40)


class Setup(Exception):
    """Why Ray cannot be used."""


def main():
    # The output of Ray and others must not get among the messages.
    stream = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    threading.Thread(target=end_with_driver, args=(stream,), daemon=True).start()
    messages = stream.makefile("rb", 1 << 16)
    header, hello = read(messages)
    try:
        answer = connect(header["address"], header["package"], hello)
    except Setup as error:
        return stream.sendall(frame({"to": header["to"], "error": "setup", "message": str(error)}))
    stream.sendall(frame({"to": header["to"]}, answer))
    # From here on Ray is needed.
    from driver import Driver

    driver = Driver(stream)
    driver.done.begin(driver.answer)
    try:
        while message := read(messages):
            driver.take(*message)
    except Exception as error:
        driver.fail(error)
    driver.close()


def connect(address, package, hello):
    """Reaches Ray, and says what the library answers to `hello`."""
    try:
        import ray
    except ImportError as error:
        message = f"the Python {sys.executable} cannot import ray: {error}"
        raise Setup(f"{message}; install ray there, or name another Python")
    version = tuple(int(part) for part in ray.__version__.split(".")[:2])
    if version[0] != OLDEST[0] or version < OLDEST:
        message = f"the Python {sys.executable} has ray {ray.__version__}"
        raise Setup(f"{message}; this needs 2.40 or a later 2.x")
    sys.path.insert(0, os.path.dirname(package))
    import heist_ray

    try:
        library = heist_ray.Library(heist_ray.LIBRARY)
    except (OSError, AttributeError) as error:
        raise Setup(f"the library cannot be used: {error}; does it have export!()?")
    answer = heist_ray.data(library.answer(hello))
    if address != "auto":
        # Ray itself would try for more than a minute, and say less.
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), port), REACH_PATIENCE_S).close()
        except OSError as error:
            raise Setup(f"nobody listens there: {error}")
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="ERROR",
            runtime_env={"py_modules": [package]},
        )
    except Exception as error:
        raise Setup(f"{type(error).__name__}: {error}")
    return answer


def end_with_driver(stream):
    """Ends this process when the driver has gone, whatever Ray is waiting for."""
    gone = select.poll()
    gone.register(stream, select.POLLRDHUP)
    gone.poll()
    # The driver may have had no time for that.
    shutil.rmtree(os.path.dirname(os.path.abspath(__file__)), ignore_errors=True)
    time.sleep(GOODBYE_S)
    os._exit(0)


if __name__ == "__main__":
    main()
