// Runs one snippet after the other in this process. A snippet comes as three parts on descriptor 223, each ended by NUL: its
// length, its text, a word. When it is done, the word goes back on 224 with 0 or 1.
//
// The inspector evaluates them, as it does for a browser's console: names may be declared again, and `await` may stand
// anywhere. A script around it stops what runs when an interrupt comes.
(() => {
  'use strict';
  const fs = require('fs');
  const net = require('net');
  const util = require('util');
  const vm = require('vm');
  const { createRequire } = require('module');
  const { Session } = require('inspector');

  // Opened anew, so that programs which a snippet starts do not have them.
  const own = (descriptor, flags) => {
    const copy = fs.openSync(`/proc/self/fd/${descriptor}`, flags);
    fs.closeSync(descriptor);
    return copy;
  };
  const hears = own(223, 'r');
  const speaks = own(224, 'w');
  const stdout = process.stdout.write.bind(process.stdout);
  const stderr = process.stderr.write.bind(process.stderr);

  const session = new Session();
  session.connect();
  let running = null;
  let count = 0;

  // The inspector names values by ids; a function of ours that it calls with one gets the value itself.
  let grabbed;
  globalThis._haft = (value) => { grabbed = value; };
  let grabber;
  session.post('Runtime.evaluate', { expression: '_haft' }, (_, answer) => { grabber = answer.result.objectId; });
  delete globalThis._haft;

  const valueOf = (remote) => {
    if (remote.type === 'bigint') return BigInt(remote.unserializableValue.slice(0, -1));
    if (remote.unserializableValue !== undefined) return Number(remote.unserializableValue);
    if (remote.objectId === undefined) return remote.value === undefined && remote.subtype === 'null' ? null : remote.value;
    const call = {
      objectId: grabber,
      functionDeclaration: 'function (value) { this(value); }',
      arguments: [{ objectId: remote.objectId }],
      silent: true,
    };
    session.post('Runtime.callFunctionOn', call);
    return grabbed;
  };

  // An error as node prints it, without the frames of this file.
  const described = (error) => {
    const lines = util.inspect(error).split('\n');
    const first = lines.findIndex((line) => /^\s+at Session\.post \(node:inspector/.test(line));
    if (first < 0) return lines.join('\n');
    const rest = lines.slice(first).filter((line) => !/^\s+at /.test(line));
    // Its own properties follow the last frame, in braces that begin on that line.
    const brace = rest.length > 0 && !lines[first - 1].endsWith('{') ? ' {' : '';
    return [...lines.slice(0, first - 1), lines[first - 1] + brace, ...rest].join('\n');
  };

  const complain = (details, snippet) => {
    const error = valueOf(details.exception);
    const isSyntax = error instanceof SyntaxError && details.scriptId !== undefined;
    if (isSyntax) {
      const line = snippet.text.split('\n')[details.lineNumber] ?? '';
      stderr(`${snippet.name}:${details.lineNumber + 1}\n${line}\n${' '.repeat(details.columnNumber)}^\n\n`);
    }
    stderr(`Uncaught ${described(error)}\n`);
    if (error?.code === 'ERR_VM_DYNAMIC_IMPORT_CALLBACK_MISSING') stderr('Use require() here.\n');
  };

  const finish = (snippet, status) => {
    if (running !== snippet) return;
    running = null;
    fs.writeSync(speaks, `${snippet.word}\0${status}\0`);
  };

  const evaluated = (snippet, failure, answer) => {
    if (running !== snippet) return;
    try {
      if (failure) {
        stderr(`Uncaught ${failure.message}\n`);
      } else if (answer.exceptionDetails) {
        complain(answer.exceptionDetails, snippet);
      } else if (answer.result.type !== 'undefined') {
        stdout(`${util.inspect(valueOf(answer.result))}\n`);
      }
      finish(snippet, failure || answer.exceptionDetails ? 1 : 0);
    } catch (error) {
      // A value that cannot be shown.
      stderr(`Uncaught ${described(error)}\n`);
      finish(snippet, 1);
    } finally {
      grabbed = undefined;
      session.post('Runtime.releaseObjectGroup', { objectGroup: 'snippet' });
    }
  };

  const interrupted = (snippet) => {
    stderr('Uncaught Error: interrupted\n');
    finish(snippet, 1);
  };

  let begin;
  globalThis._haft = () => begin();
  const guarded = new vm.Script('_haft()');
  const enter = globalThis._haft;
  delete globalThis._haft;

  const start = (text, word) => {
    count += 1;
    const snippet = { text, word, name: `snippet-${count}` };
    running = snippet;
    const request = {
      expression: `${text}\n//# sourceURL=${snippet.name}`,
      replMode: true,
      awaitPromise: true,
      objectGroup: 'snippet',
    };
    begin = () => {
      delete globalThis._haft;
      session.post('Runtime.evaluate', request, (failure, answer) => evaluated(snippet, failure, answer));
    };
    globalThis._haft = enter;
    try {
      guarded.runInThisContext({ breakOnSigint: true });
    } catch {
      interrupted(snippet);
    }
  };

  process.on('SIGINT', () => { if (running) interrupted(running); });
  // What fails later, outside of any snippet, ends nothing.
  process.on('uncaughtException', (error) => stderr(`Uncaught ${described(error)}\n`));

  globalThis.require = createRequire(`${process.cwd()}/`);
  for (const name of ['module', 'exports', '__filename', '__dirname']) delete globalThis[name];

  let heard = Buffer.alloc(0);
  new net.Socket({ fd: hears, readable: true, writable: false }).on('data', (more) => {
    heard = Buffer.concat([heard, more]);
    const length = heard.indexOf(0);
    if (length < 0) return;
    const text = length + 1 + Number(heard.subarray(0, length).toString());
    const end = heard.indexOf(0, text + 1);
    if (end < 0) return;
    const [code, word] = [heard.subarray(length + 1, text).toString(), heard.subarray(text + 1, end).toString()];
    heard = heard.subarray(end + 1);
    start(code, word);
  });
  fs.writeSync(speaks, 'ready\0');
})();
