/**
 * The script that runs on the Redis server as one atomic step: a machine reports what it has learnt and is lent permits
 * for requests. Lua 5.1 (redis.io/docs/latest/develop/programmability/lua-api).
 *
 * `KEYS[1]` holds the state that all machines share, `KEYS[1]:machine` the permits of one machine. Times are ms on the
 * server's clock; machines send only how long ago something was and how long it lasts. Permits expire with their window,
 * after 70 s at the latest. Then a new turn of the operation begins, and the permits of dead machines are free again.
 */

/** Longest time for one step on the server, including the connection, in ms. */
export const ASKING_MS = 2_000;

export const LEASE_SCRIPT = `
local SAME_END, LATE, TURN, KEPT, STEP, PACE, PATIENCE = 2500, 5000, 70000, 86400000, 5000, 1000, ${ASKING_MS}
local MOST = 64
local r = cjson.decode(ARGV[1])
local function read(key)
  local isRead, value = pcall(cjson.decode, redis.call('GET', key) or '')
  return isRead and type(value) == 'table' and value.id and value or nil
end
local s = read(KEYS[1]) or { id = r.newId, setBy = 0, minute = 0, now = 0, before = 0 }
local place = KEYS[1] .. ':' .. r.machine
local m = read(place)
if not m or m.id ~= s.id then m = { id = s.id, minute = -1, lent = {}, refused = {} } end

-- The server's clock has been set, if a machine's two clocks agree that it has: t continues as if it had not.
local time = redis.call('TIME')
local t = time[1] * 1000 + math.floor(time[2] / 1000) - s.setBy
-- Only by a machine that has heard of the last time: for the others that still looks as if it were set again.
if r.id == s.id and r.setBy == s.setBy then
  local byMonotonic, byWall = t - r.monotonic, t - r.wall
  local by = math.abs(byMonotonic) < math.abs(byWall) and byMonotonic or byWall
  -- The client has given up on a question that took this long. If it has not, it asks again.
  local patience = math.min(PATIENCE, r.want and r.want.timeoutMs or PATIENCE)
  if math.min(byMonotonic, byWall) > patience then r.want, r.lent, r.leaves, r.probing = nil, nil, nil, true end
  if byMonotonic * byWall > 0 and math.abs(by) > STEP then s.setBy, t = s.setBy + math.floor(by), t - math.floor(by) end
-- How old the first question of a machine is cannot be told: it only makes the two known to each other.
elseif not r.id then r.want = nil end

-- Where nothing is known, and where a user has cleared all, one probe goes first, as after a block long past.
if r.clear or not s.ops then
  s.block, s.strikes, s.ops = { since = 0, till = 0, why = 'rate-limited' }, 0, {}
  if r.clear then s.cleared = t end
end

-- Machines seen lately: in this minute, or in the last.
local minute = math.floor(t / 60000)
if minute ~= s.minute then s.before, s.minute, s.now = s.now, minute, 0 end
if m.minute ~= minute then m.minute, s.now = minute, s.now + 1 end
local machines = math.max(s.now, s.before)

local function op(name)
  local o = s.ops[name]
  if not o then
    o = { before = 0, since = 0, till = 0, lent = 0, old = 0, first = 0, next = 0 }
    s.ops[name] = o
  end
  if t >= o.till then
    o.old, o.lent = t < o.till + LATE and o.lent or 0, 0
    o.first, o.next = math.min(machines, o.first + o.next), 0
    -- When it began names a turn: after all is cleared, none has the name of an earlier one.
    o.before, o.since, o.till = o.since, t, t + TURN
  end
  return o
end
local function lend(name, many)
  local o, before = op(name), m.lent[name]
  if before and before.turn == o.since then o.lent = o.lent - before.many end
  if before and before.turn == o.before then o.old = math.max(0, o.old - before.many) end
  o.lent = o.lent + many
  m.lent[name] = many > 0 and { many = many, turn = o.since } or nil
end
-- Gives up the machine's place in the next window.
local function unclaim(name)
  local o, refused = op(name), m.refused[name]
  if refused == o.since then o.next = math.max(0, o.next - 1)
  elseif refused then o.first = math.max(0, o.first - 1) end
  m.refused[name] = nil
end
if r.leaves then for name in pairs(m.refused) do unclaim(name) end end
if r.lent then
  for name in pairs(m.lent) do if not r.lent[name] then lend(name, 0) end end
  for name, many in pairs(r.lent) do lend(name, many) end
end

-- Whether two may be one: an answer rounds the end up, and a slow one names it as much later.
local function soonestEnd(w, close) return w.resetAt - close - (w.slackMs or 0) end
local function endTogether(a, b, close)
  return soonestEnd(a, close) <= b.resetAt and soonestEnd(b, close) <= a.resetAt
end

-- What the machine's answers have said, since a user cleared all. Within a window what is left only falls.
local cleared = s.cleared or 0
for _, w in ipairs(r.windows) do
  for _, each in ipairs({ 'resetAt', 'seenAt', 'answeredAt', 'sentAt' }) do w[each] = t + w[each] end
  if w.answeredAt > cleared then
    local o = op(w.operation)
    local k = o.window or w
    local isOneTime = k.limit == w.limit and w.seenAt < k.resetAt and k.seenAt < w.resetAt
    -- A report that was under way for some time makes its window seem to end later: a short one must not reach the next.
    local close = math.min(SAME_END, (w.lengthMs or k.lengthMs or 2 * SAME_END) / 2)
    if isOneTime and endTogether(k, w, close) then
      local isNear = math.abs(k.resetAt - w.resetAt) <= close
      local ending = (isNear and k.resetAt or w.seenAt) < (isNear and w.resetAt or k.seenAt) and k or w
      w.resetAt, w.slackMs = ending.resetAt, ending.slackMs
      for _, each in ipairs({ 'remaining', 'seenAt' }) do w[each] = math.min(k[each], w[each]) end
      for _, each in ipairs({ 'answeredAt', 'sentAt' }) do w[each] = math.max(k[each], w[each]) end
    elseif w.seenAt < k.seenAt then w, k = k, w end
    for each in pairs(k.apart) do w.apart[each] = true end
    if t < w.resetAt then o.till = math.min(o.till, w.resetAt) end
    o.window = w
  end
end

local function isBlocked() return s.block and t < s.block.till end
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

-- Which windows a request draws on is derived, as on each machine.
local function address(name) return string.match(name, '^%S+ (@%x*)') end
local function isLike(name, own, other, w)
  return w and address(name) == address(other)
    and not (own and (own.limit ~= w.limit or own.apart[other] or w.apart[name]))
end
local function drawsOn(name, own, other, w)
  return isLike(name, own, other, w) and t < w.resetAt
    and (not own or t >= soonestEnd(own, SAME_END) or endTogether(own, w, SAME_END))
end
local function isWindowless(name)
  local own = s.ops[name].window
  for other, o in pairs(s.ops) do
    local w = o.window
    if own and isLike(name, own, other, w) and t >= w.resetAt and endTogether(own, w, SAME_END) then return true end
  end
  return not own
end
local function room(name, reserve)
  local free, ends = math.huge, t
  for other, each in pairs(s.ops) do
    local w = each.window
    if drawsOn(name, s.ops[name].window, other, w) then
      local lent = 0
      for user, o in pairs(s.ops) do
        local out = o.lent + (t < o.since + LATE and o.old or 0)
        if out > 0 and drawsOn(user, o.window, other, w) then lent = lent + out end
      end
      local wanted = reserve > 0 and reserve < 1 and math.floor(w.limit * reserve) or reserve
      local left = w.remaining - math.min(wanted, math.max(0, w.limit - 1)) - lent
      if left < free then free, ends = left, w.resetAt end
    end
  end
  return free, ends
end

local reply = { id = s.id, t = t, machines = machines, windows = {} }
local w = r.want
if w then
  local o = op(w.operation)
  local probes = s.block or isWindowless(w.operation)
  local asked = s.probe and s.probe.machine ~= r.machine and t < s.probe.till and s.probe
  local free, ends = room(w.operation, w.reserve)
  -- The first request of an operation may hang, and the windows of others have room: one goes after it all the same.
  local isPastFirst = asked and not s.block and not o.window and free < math.huge and t - asked.at >= PACE
  -- Who was refused in a turn before goes first for a while.
  local refused = m.refused[w.operation]
  local isFirst = refused and refused < o.since
  local claimedTill = o.since + LATE
  local others = (isFirst or t >= claimedTill) and 0 or o.first
  if isBlocked() then -- The reply has its end in any case.
  elseif probes and asked and not isPastFirst then
    reply.hold = { left = asked.till - t, why = 'asking', again = math.max(100, 2 * machines) }
  elseif not s.block and free - others < 1 then
    local again = math.max(20 * machines, (ends - t) / 4)
    if free >= 1 then again = math.min(again, claimedTill - t) end
    reply.hold = { left = ends - t, why = 'window-spent', again = math.max(100, again) }
    if not refused then o.next, m.refused[w.operation] = o.next + 1, o.since end
  else
    local many = probes and 1 or math.max(1, math.min(w.count, math.floor((free - others) / machines)))
    unclaim(w.operation)
    if probes and not isPastFirst then s.probe = { machine = r.machine, at = t, till = t + w.timeoutMs + LATE } end
    lend(w.operation, (r.lent[w.operation] or 0) + many)
    reply.granted = { many = many, lasts = o.till - t }
  end
end

-- Clients choose the names of operations: of too many, those that no permit is out for are forgotten.
local count = 0
for _ in pairs(s.ops) do count = count + 1 end
for name, o in pairs(s.ops) do
  if count > MOST and t >= o.till + LATE then s.ops[name] = nil end
end
redis.call('SET', place, cjson.encode(m), 'PX', KEPT)
redis.call('SET', KEYS[1], cjson.encode(s), 'PX', 2 * KEPT)
for _, o in pairs(s.ops) do table.insert(reply.windows, o.window) end
-- One that is over, too, until its probe is answered. Where none is known, only to the machine that sends the probe:
-- what others were lent is good, and their windows hold.
if s.block and (s.block.till > s.block.since or s.probe and s.probe.machine == r.machine) then
  reply.block = { since = math.max(t - KEPT, s.block.since), ['until'] = math.max(t - KEPT, s.block.till), why = s.block.why }
end
reply.setBy, reply.strikes, reply.cleared = s.setBy, s.strikes, s.cleared and t - s.cleared
return cjson.encode(reply)
`;
