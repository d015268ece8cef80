#!/usr/bin/env node
// Syntax that any Node parses: an old one is to get a sentence, not a SyntaxError.
'use strict';

var found = process.versions.node;
var parts = found.split('.');

if (!('WebAssembly' in global)) {
  process.stderr.write(
    'petstore cannot run on this Node, because WebAssembly is turned off (--jitless does that). ' +
      'Look at NODE_OPTIONS.\n',
  );
  process.exitCode = 3;
} else if (Number(parts[0]) > 22 || (Number(parts[0]) === 22 && Number(parts[1]) >= 13)) {
  require('./start.js');
} else {
  process.stderr.write(
    'petstore needs Node 22.13 or newer, and this is Node ' +
      found +
      '. Install Node 22.13 or newer; in a checkout, `npx petstore` brings its own.\n',
  );
  process.exitCode = 3;
}
