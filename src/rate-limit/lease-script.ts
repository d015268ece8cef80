/** Longest time for one step on the server, including the connection, in ms. */
export const ASKING_MS = 2_000;

/**
 * The script that runs on the Redis server as one atomic step: a machine reports what it has learnt and is lent permits
 * for requests. Lua 5.1 (redis.io/docs/latest/develop/programmability/lua-api).
 *
 * `KEYS[1]` holds the state that all machines share. Times are ms on the server's clock; machines send and receive only
 * how long ago something was and how long it lasts. Permits expire with their window, after 70 s at the latest: then
 * those of dead machines are free again.
 */
export const LEASE_SCRIPT = `
local SAME_END, LATE, TURN, LATELY, KEPT, STEP, PACE, PATIENCE = 2500, 5000, 70000, 90000, 86400000, 5000, 1000, ${ASKING_MS}
local MOST = 64
local TIMES = { 'resetAt', 'seenAt', 'answeredAt' }
local r = cjson.decode(ARGV[1])
local isRead, s = pcall(cjson.decode, redis.call('GET', KEYS[1]) or '')
if not (isRead and type(s) == 'table' and s.id) then
  -- Where nothing is known, one probe goes first, as after a block.
  local over = { since = 0, till = 0, why = 'rate-limited' }
  s = { id = r.newId, setBy = 0, strikes = 0, block = over, windows = {}, machines = {} }
end

-- The server's clock has been set, if a machine's two clocks agree that it has: t continues as if it had not.
local time = redis.call('TIME')
local t = time[1] * 1000 + math.floor(time[2] / 1000) - s.setBy
-- Only by a machine that has heard of the last time: for the others that still looks as if it were set again.
if r.id == s.id and r.setBy == s.setBy then
  local byMonotonic, byWall = t - r.monotonic, t - r.wall
  local by = math.abs(byMonotonic) < math.abs(byWall) and byMonotonic or byWall
  -- The client has given up on a question that took this long. If it has not, it asks again.
  local patience = math.min(PATIENCE, r.want and r.want.timeoutMs or PATIENCE)
  if math.min(byMonotonic, byWall) > patience then r.want, r.lent, r.probing = nil, nil, true end
  if byMonotonic * byWall > 0 and math.abs(by) > STEP then s.setBy, t = s.setBy + math.floor(by), t - math.floor(by) end
-- How old the first question of a machine is cannot be told: it only makes the two known to each other.
elseif not r.id then r.want = nil end

local function isBlocked() return s.block and t < s.block.till end
if r.clear then s.block, s.cleared, s.strikes, s.probe, s.windows = nil, t, 0, nil, {} end
local cleared = s.cleared or 0

-- What the machine's answers have said since a user cleared all. Within a window what is left only falls.
for _, w in ipairs(r.windows) do
  for _, each in ipairs(TIMES) do w[each] = t + w[each] end
  if w.answeredAt > cleared then
    local k = s.windows[w.operation] or w
    local isOneTime = k.limit == w.limit and w.seenAt < k.resetAt and k.seenAt < w.resetAt
    -- A report that was under way for some time makes its window seem to end later: a short one must not reach the next.
    local close = math.min(SAME_END, (w.lengthMs or k.lengthMs or 2 * SAME_END) / 2)
    if isOneTime and math.abs(k.resetAt - w.resetAt) <= close then
      for _, each in ipairs({ 'remaining', 'resetAt', 'seenAt' }) do w[each] = math.min(k[each], w[each]) end
      w.answeredAt = math.max(k.answeredAt, w.answeredAt)
    elseif w.seenAt < k.seenAt then w, k = k, w end
    for each in pairs(k.apart) do w.apart[each] = true end
    w.lengthMs = w.lengthMs or k.lengthMs
    s.windows[w.operation] = w
  end
end

-- By a clock that was set back it lasts no longer than it was named, from now on.
if s.block and s.block.since > t then s.block.since, s.block.till = t, t + s.block.till - s.block.since end
if r.block and t + r.block.since > cleared and r.block['until'] > 0 then
  local till = t + r.block['until']
  if not isBlocked() or till > s.block.till + 1000 then
    local isBan = isBlocked() and s.block.why == 'banned'
    s.block = { since = t + r.block.since, till = till, why = isBan and 'banned' or r.block.why }
  end
  s.strikes = math.max(s.strikes, r.strikes)
end
-- Its probe was answered, and not refused: it knows of no block any more.
if s.probe and s.probe.machine == r.machine and not r.probing then
  if not r.block and not isBlocked() then s.strikes, s.block = 0, nil end
  s.probe = nil
end

-- What each machine was lent, by operation.
local m = s.machines[r.machine]
m = { at = t, lent = not r.lent and m and m.lent or {} }
s.machines[r.machine] = m
local function lend(name, many)
  local w, till = s.windows[name], t + TURN
  if w and t < w.resetAt then till = math.min(till, w.resetAt) end
  m.lent[name] = { many = many, till = till }
  return till - t
end
for name, many in pairs(r.lent or {}) do lend(name, many) end
local machines, lent = 0, {}
for id, each in pairs(s.machines) do
  if t > each.at + LATELY then s.machines[id] = nil
  else
    machines = machines + 1
    for name, l in pairs(each.lent) do
      -- A request may arrive late.
      if t < l.till + LATE then lent[name] = (lent[name] or 0) + l.many end
    end
  end
end

-- Which windows a request draws on is derived, as on each machine.
local function address(name) return string.match(name, '^%S+ (@%x*)') end
local function drawsOn(name, other)
  local own, w = s.windows[name], s.windows[other]
  if t >= w.resetAt or address(name) ~= address(other) then return false end
  if not own or own == w then return true end
  if own.limit ~= w.limit or own.apart[other] or w.apart[name] then return false end
  return t >= own.resetAt or math.abs(own.resetAt - w.resetAt) <= SAME_END
end
local function room(name, reserve)
  local free, ends, left = math.huge, t, math.huge
  for other, w in pairs(s.windows) do
    if drawsOn(name, other) then
      local kept = w.remaining - math.min(reserve, math.max(0, w.limit - 1))
      local out = 0
      for user, many in pairs(lent) do
        if drawsOn(user, other) then out = out + many end
      end
      if kept - out < free then free, ends, left = kept - out, w.resetAt, kept end
    end
  end
  return free, ends, left
end

local reply = { id = s.id, t = t, machines = machines, setBy = s.setBy, strikes = s.strikes }
local want = r.want
if want then
  local name = want.operation
  local own = s.windows[name]
  local probes = s.block or not own or t >= own.resetAt
  local asked = s.probe and (s.probe.machine ~= r.machine or r.probing) and t < s.probe.till and s.probe
  local free, ends, left = room(name, want.reserve)
  local isPastFirst = asked and not s.block and not own and free < math.huge and t - asked.at >= PACE
  if isBlocked() then -- The reply has its end in any case.
  elseif probes and asked and not isPastFirst then
    reply.lease = { many = 0, lasts = asked.till - t, why = 'asking', again = math.max(100, 2 * machines) }
  elseif not s.block and free < 1 then
    -- Another machine may give permits back.
    local again = left >= 1 and math.max(100, 20 * machines, (ends - t) / 4) or nil
    reply.lease = { many = 0, lasts = ends - t, why = 'window-spent', again = again }
  else
    local many = probes and 1 or math.max(1, math.min(want.count, math.floor(free / machines)))
    if probes and not isPastFirst then s.probe = { machine = r.machine, at = t, till = t + want.timeoutMs + LATE } end
    reply.lease = { many = many, lasts = lend(name, (r.lent[name] or 0) + many), isProbe = probes and true }
  end
end

-- Clients choose the names of operations: of too many, those without a recent answer are forgotten.
local count = 0
for _ in pairs(s.windows) do count = count + 1 end
for name, w in pairs(s.windows) do
  if t > w.resetAt + KEPT or count > MOST and t > w.answeredAt + TURN then s.windows[name] = nil end
end
redis.call('SET', KEYS[1], cjson.encode(s), 'PX', 2 * KEPT)
for _, w in pairs(s.windows) do
  for _, each in ipairs(TIMES) do w[each] = w[each] - t end
end
reply.windows, reply.cleared = s.windows, s.cleared and t - s.cleared
-- One that is over, too, until its probe is answered.
if s.block and s.block.till > 0 then
  local function left(at) return math.max(-KEPT, at - t) end
  reply.block = { since = left(s.block.since), ['until'] = left(s.block.till), why = s.block.why }
end
return cjson.encode(reply)
`;
