/** Runs a script of the Redis server in this process, on simulated time: a Lua machine, with `redis.call` and `cjson`. */
import { lauxlib, lua, lualib, to_jsstring, to_luastring } from 'fengari';

type State = ReturnType<typeof lauxlib.luaL_newstate>;

/** Strings by key, each until a time. */
export type Store = Map<string, { readonly value: string; readonly until: number }>;

export class RedisScript {
  private readonly state: State;
  private readonly script: string;
  private now = 0;
  private store: Store = new Map();

  constructor(script: string) {
    this.script = script;
    this.state = lauxlib.luaL_newstate();
    lualib.luaL_openlibs(this.state);
    this.defineTable('redis', { call: () => this.call() });
    this.defineTable('cjson', { decode: () => this.decode(), encode: () => this.encode() });
    this.check(lauxlib.luaL_loadstring(this.state, to_luastring(script)));
    lua.lua_setglobal(this.state, to_luastring('script'));
  }

  /** @param now epoch ms of the server */
  run(store: Store, now: number, key: string, args: readonly string[]): string {
    const { state } = this;
    this.now = now;
    this.store = store;
    for (const [name, values] of [
      ['KEYS', [key]],
      ['ARGV', args],
    ] as const) {
      this.push(values);
      lua.lua_setglobal(state, to_luastring(name));
    }
    lua.lua_getglobal(state, to_luastring('script'));
    this.check(lua.lua_pcall(state, 0, 1, 0));
    const reply = lua.lua_tojsstring(state, -1);
    lua.lua_settop(state, 0);
    return reply;
  }

  private check(status: number): void {
    if (status !== lua.LUA_OK) throw new Error(lua.lua_tojsstring(this.state, -1));
  }

  private defineTable(name: string, functions: Record<string, () => number>): void {
    const { state } = this;
    lua.lua_newtable(state);
    for (const [each, work] of Object.entries(functions)) {
      lua.lua_pushjsfunction(state, work);
      lua.lua_setfield(state, -2, to_luastring(each));
    }
    lua.lua_setglobal(state, to_luastring(name));
  }

  private text(index: number): string {
    return to_jsstring(lauxlib.luaL_tolstring(this.state, index));
  }

  private call(): number {
    const [command, key, value, , ms] = Array.from({ length: lua.lua_gettop(this.state) }, (_, at) =>
      this.text(at + 1),
    );
    if (command === 'TIME') this.push([`${Math.floor(this.now / 1_000)}`, `${Math.floor((this.now % 1_000) * 1_000)}`]);
    else if (command === 'GET') {
      const found = this.store.get(key!);
      this.push(found !== undefined && found.until > this.now ? found.value : false);
    } else if (command === 'SET') {
      this.store.set(key!, { value: value!, until: this.now + Number(ms) });
      this.push('OK');
    } else throw new Error(`no such command: ${command}`);
    return 1;
  }

  private decode(): number {
    const text = this.text(1);
    if (text === '') {
      lua.lua_pushliteral(this.state, 'not JSON');
      return lua.lua_error(this.state);
    }
    this.push(JSON.parse(text));
    return 1;
  }

  private encode(): number {
    this.push(JSON.stringify(this.take(1)));
    return 1;
  }

  private push(value: unknown): void {
    const { state } = this;
    if (typeof value === 'string') lua.lua_pushstring(state, to_luastring(value));
    else if (typeof value === 'number') lua.lua_pushnumber(state, value);
    else if (typeof value === 'boolean') lua.lua_pushboolean(state, value);
    else if (Array.isArray(value)) {
      lua.lua_newtable(state);
      value.forEach((each, at) => {
        this.push(each);
        lua.lua_rawseti(state, -2, at + 1);
      });
    } else if (typeof value === 'object' && value !== null) {
      lua.lua_newtable(state);
      for (const [name, each] of Object.entries(value)) {
        lua.lua_pushstring(state, to_luastring(name));
        this.push(each);
        lua.lua_rawset(state, -3);
      }
    } else lua.lua_pushnil(state);
  }

  private take(index: number): unknown {
    const { state } = this;
    const at = lua.lua_absindex(state, index);
    switch (lua.lua_type(state, at)) {
      case lua.LUA_TSTRING:
        return lua.lua_tojsstring(state, at);
      case lua.LUA_TNUMBER:
        return lua.lua_tonumber(state, at);
      case lua.LUA_TBOOLEAN:
        return lua.lua_toboolean(state, at);
      case lua.LUA_TTABLE: {
        const found: Record<string, unknown> = {};
        lua.lua_pushnil(state);
        while (lua.lua_next(state, at) !== 0) {
          found[String(this.take(-2))] = this.take(-1);
          lua.lua_pop(state, 1);
        }
        return '1' in found ? Object.values(found) : found;
      }
      default:
        return undefined;
    }
  }
}
