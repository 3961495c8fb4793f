"""Run a stream to its end, also on a busy machine."""

from pyspark.errors import StreamingQueryException

TRIES = 5
LATE = "failed to connect back"


def ended(writer, target):
    """Start a stream, wait until it is done, and return what it tells of its batches.

    Spark gives the Python beside a stream ten seconds to start, whatever else the machine does.
    Where that was too little, the stream is started again: it goes on where it stopped.
    """
    told: list[object] = []
    for left in reversed(range(TRIES)):
        running = writer.start(target)
        try:
            assert running.awaitTermination(240), "it does not end"
            return told + running.recentProgress
        except StreamingQueryException as error:
            if not left or LATE not in str(error):
                raise
            told += running.recentProgress
        finally:
            running.stop()
    return told
