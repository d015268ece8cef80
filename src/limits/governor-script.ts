/**
 * The governor of governor.ts in Lua, for a Redis server to run as one atomic step on its own clock. Function by
 * function the same; test/limits/redis-ledger.test.ts holds both against each other.
 *
 * KEYS[1]: the state, as JSON. ARGV: operation, its argument as JSON, and the time in ms or '' for the server's own.
 * Returns JSON: the time, and the decision or the state.
 */
export const GOVERNOR_SCRIPT = `
local BAN_MS, PACE_MS, LOST_AFTER_MS, POLL_MS = 3600000, 1000, 120000, 50
local FOREIGN_RESERVE, SAME_WINDOW_MS, KEPT_MS = 2, 2500, 86400000

local function block_ms(headers, strikes, random)
  local window = headers.window
  local reset = window and window.remaining == 0 and window.resetInMs or nil
  local base = 60000
  if headers.retryAfterMs or reset then base = math.max(headers.retryAfterMs or 0, reset or 0, 2000) end
  local wait = base * 2 ^ math.min(strikes - 1, 30)
  local jitter = math.min(wait * 0.1, 5000) * random
  return math.min(wait + 1000 + jitter, 86400000)
end

local function forget_lost(state, now)
  local function is_lost(each) return now - each.at > LOST_AFTER_MS end
  local over = state.window and now >= state.window.resetAt
  local kept = {}
  for _, each in ipairs(state.inFlight) do
    if not is_lost(each) or (state.window and not over) then table.insert(kept, each) end
  end
  state.inFlight = kept
  if state.probe and is_lost(state.probe) then state.probe = nil end
end

local function must_probe(state, now)
  return state.block ~= nil or state.window == nil or now >= state.window.resetAt
end

local function may_draw(state, reserve)
  local kept = state.foreign and math.max(FOREIGN_RESERVE, reserve) or reserve
  local left = state.window.remaining - #state.inFlight
  if left - kept < 1 then return false end
  return not state.foreign or #state.inFlight == 0 or left > 2 * kept + 1
end

-- Until when at the latest, why, and where it may be over at any time, when to ask again.
local function for_answer(asked, now)
  return asked.at + LOST_AFTER_MS, 'asking', now + POLL_MS
end

local function hold(state, now, reserve)
  local block = state.block
  if block and now < block['until'] then return block['until'], block.why end
  if must_probe(state, now) then
    if state.probe then return for_answer(state.probe, now) end
    if not block and state.pacedUntil then
      if #state.inFlight > 0 then return for_answer(state.inFlight[1], now) end
      if now < state.pacedUntil then return state.pacedUntil, 'paced' end
    end
    return nil
  end
  if may_draw(state, reserve) then return nil end
  return state.window.resetAt, 'window-spent'
end

local function decide(state, now, intent)
  forget_lost(state, now)
  local due, why, again = hold(state, now, intent.reserve)
  if due then
    local too_long = (again or due) - now > intent.maxWaitMs
    return { ['do'] = too_long and 'refuse' or 'wait', ['until'] = due, why = why, again = again }
  end
  local asks = must_probe(state, now)
  table.insert(state.inFlight, { id = intent.id, at = now })
  state.admitted = state.admitted + 1
  if asks then state.probe = { id = intent.id, at = now } end
  return { ['do'] = 'send' }
end

local function release(state, id)
  local kept, sent = {}, nil
  for _, each in ipairs(state.inFlight) do
    if each.id == id then sent = sent or each else table.insert(kept, each) end
  end
  state.inFlight = kept
  if state.probe and state.probe.id == id then state.probe = nil end
  return sent
end

local function with_window(state, now, headers, sent)
  local old, told = state.window, headers.window
  local live = old and now < old.resetAt
  if not told then
    if live then
      old.remaining = math.max(0, old.remaining - 1)
    else
      state.window, state.baseline = nil, nil
      state.pacedUntil = (sent and sent.at or now) + PACE_MS
    end
    return
  end
  state.pacedUntil = nil
  local reset_at = now + told.resetInMs
  local answered = state.admitted - #state.inFlight
  if not live or reset_at > old.resetAt + SAME_WINDOW_MS then
    state.window = { limit = told.limit, remaining = told.remaining, resetAt = reset_at }
    state.baseline = { at = now, remaining = told.remaining, admitted = answered }
    return
  end
  local baseline = state.baseline or { at = now, remaining = old.remaining, admitted = answered }
  local past = reset_at < old.resetAt - SAME_WINDOW_MS and told.limit == old.limit
  if past and sent and sent.at < baseline.at then return end
  state.baseline = baseline
  local drawn = baseline.remaining - told.remaining
  state.foreign = state.foreign or drawn > state.admitted - baseline.admitted
  state.window = {
    limit = told.limit,
    remaining = math.min(old.remaining, told.remaining),
    resetAt = math.max(reset_at, old.resetAt),
  }
end

local function refused(state, now, answer, sent)
  local block, window = state.block, answer.headers.window
  local sent_before = block and sent and sent.at < block['until']
  if sent_before then state.strikes = math.max(1, state.strikes) else state.strikes = state.strikes + 1 end
  local wait = block_ms(answer.headers, state.strikes, answer.random)
  local due = math.max(math.ceil(now + wait), block and block['until'] or 0)
  local banned = block and block.why == 'banned' and now < block['until']
  state.block = { since = now, ['until'] = due, why = banned and 'banned' or 'rate-limited' }
  if window then state.window = { limit = window.limit, remaining = 0, resetAt = now + window.resetInMs } end
end

local function observe(state, now, answer)
  local sent = release(state, answer.id)
  state.seenAt = now
  if answer.status == 429 then return refused(state, now, answer, sent) end
  with_window(state, now, answer.headers, sent)
  local block = state.block
  if answer.status == 403 then
    state.block = { since = now, ['until'] = math.max(now + BAN_MS, block and block['until'] or 0), why = 'banned' }
    return
  end
  if block and (sent and sent.at or 0) < block['until'] then return end
  state.block, state.strikes = nil, 0
end

local function lose(state, now, lost)
  local sent = release(state, lost.id)
  local window = state.window
  if sent and lost.mayHaveBeenSent and window and now < window.resetAt then
    window.remaining = math.max(0, window.remaining - 1)
  end
end

local key, operation, argument = KEYS[1], ARGV[1], cjson.decode(ARGV[2])
local time = redis.call('TIME')
local now = ARGV[3] == '' and time[1] * 1000 + math.floor(time[2] / 1000) or tonumber(ARGV[3])
local kept = redis.call('GET', key)
local state = kept and cjson.decode(kept) or { strikes = 0, inFlight = {}, admitted = 0, foreign = false }
local result = { now = now }
if operation == 'admit' then result.decision = decide(state, now, argument)
elseif operation == 'answered' then observe(state, now, argument)
elseif operation == 'lost' then lose(state, now, argument)
elseif operation == 'clear' then state.block, state.window, state.strikes = nil, nil, 0 end
if operation ~= 'view' then
  local due = math.max(now, state.window and state.window.resetAt or 0, state.block and state.block['until'] or 0)
  redis.call('SET', key, cjson.encode(state), 'PX', string.format('%.0f', due - now + KEPT_MS))
end
result.state = state
return cjson.encode(result)
`;
