/**
 * Preloaded into a petstore process: kills it (SIGKILL) at step PETSTORE_DIES_AT of its transactions and connections,
 * before or after that step.
 */
import { Socket } from 'node:net';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';

const diesAt = Number(process.env.PETSTORE_DIES_AT);
let steps = 0;

function step() {
  if (++steps === diesAt) process.kill(process.pid, 'SIGKILL');
}

/**
 * @param {object} prototype
 * @param {string} name
 */
function countSteps(prototype, name) {
  const methods = /** @type {Record<string, (...args: unknown[]) => unknown>} */ (prototype);
  const original = /** @type {(...args: unknown[]) => unknown} */ (methods[name]);
  methods[name] = function (...args) {
    step();
    const result = original.apply(this, args);
    step();
    return result;
  };
}

// BEGIN and COMMIT; what is sent; what is received.
countSteps(DatabaseSync.prototype, 'exec');
countSteps(Socket.prototype, 'write');
countSteps(Socket.prototype, 'push');
