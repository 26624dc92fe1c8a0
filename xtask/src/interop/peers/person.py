# A person at a terminal: runs a command on one, and answers the first question that shows some words.
# `person.py WORDS ANSWER COMMAND...`
import os, pty, select, sys, time

words, answer, command = sys.argv[1].encode(), sys.argv[2].encode() + b"\n", sys.argv[3:]
child, terminal = pty.fork()
if child == 0:
    os.execvp(command[0], command)
seen, is_answered, end = b"", False, time.time() + 150
while time.time() < end:
    if not select.select([terminal], [], [], 1)[0]:
        continue
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    sys.stdout.write(piece.decode(errors="replace"))
    sys.stdout.flush()
    if not is_answered and words in seen:
        time.sleep(0.5)
        os.write(terminal, answer)
        is_answered = True
os.waitpid(child, 0)
