# Runs one snippet after the other in this interpreter. A snippet comes as three parts on descriptor 223, each ended by NUL:
# its length, its text, a word. When it is done, the word goes back on 224 with 0 or 1. The word is read after the snippet
# has run: while it runs, nothing in memory has it.
import ast
import builtins
import linecache
import os
import signal
import site
import sys
import traceback
import types

HEARS, SPEAKS = 223, 224
# Of so many snippets the text is kept, for the lines in tracebacks.
KEPT = 200


def part():
    read = bytearray()
    while (byte := os.read(HEARS, 1)) not in (b"", b"\0"):
        read += byte
    return bytes(read)


def snippet():
    length = part()
    if not length:
        return None
    text, left = bytearray(), int(length)
    while left > 0 and (some := os.read(HEARS, min(left, 65536))):
        text += some
        left -= len(some)
    part()
    return text.decode("utf-8", "surrogateescape")


def run(text, name, space):
    tree = compile(text, name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    has_value = tree.body and isinstance(tree.body[-1], ast.Expr)
    last = tree.body.pop() if has_value else None
    exec(compile(tree, name, "exec", dont_inherit=True), space)
    if last is not None:
        show(eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), space))


def show(value):
    if value is not None:
        builtins._ = value
        print(repr(value), file=sys.__stdout__)


def complain(err):
    # Without the frames of this file.
    trace = err.__traceback__
    while trace and trace.tb_frame.f_globals is globals():
        trace = trace.tb_next
    traceback.print_exception(type(err), err, trace, file=sys.__stderr__)


def attempt(text, name, space):
    try:
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            run(text, name, space)
            return 0
        finally:
            signal.signal(signal.SIGINT, ignore)
    except SystemExit:
        raise
    except BaseException as err:
        signal.signal(signal.SIGINT, ignore)
        complain(err)
        return 1


def ignore(*_):
    pass


def remember(text, name, number):
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    linecache.cache.pop(f"<snippet {number - KEPT}>", None)


def serve():
    signal.signal(signal.SIGINT, ignore)
    os.set_inheritable(HEARS, False)
    os.set_inheritable(SPEAKS, False)
    main = types.ModuleType("__main__")
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    sys.argv = [""]
    home, number = os.getpid(), 0
    os.write(SPEAKS, b"ready\0")
    while (text := snippet()) is not None:
        number += 1
        name = f"<snippet {number}>"
        remember(text, name, number)
        status = attempt(text, name, main.__dict__)
        if os.getpid() != home:
            # A fork that came back: only one may answer.
            os._exit(status)
        os.write(SPEAKS, part() + b"\0%d\0" % status)


# What a snippet may import besides what every program may: what lies beside it, and what its user has installed.
sys.path.insert(0, "")
user_site = site.getusersitepackages()
if os.path.isdir(user_site):
    site.addsitedir(user_site)
serve()
