/** Types of the part of fengari (Lua 5.3 in JavaScript) that the simulation uses. */
declare module 'fengari' {
  interface State {
    readonly lua: never;
  }
  type LuaString = Uint8Array;
  const lauxlib: {
    luaL_newstate(): State;
    luaL_loadstring(state: State, text: LuaString): number;
    luaL_tolstring(state: State, index: number): LuaString;
  };
  const lualib: { luaL_openlibs(state: State): void };
  const lua: {
    readonly LUA_OK: number;
    readonly LUA_TSTRING: number;
    readonly LUA_TNUMBER: number;
    readonly LUA_TBOOLEAN: number;
    readonly LUA_TTABLE: number;
    lua_absindex(state: State, index: number): number;
    lua_error(state: State): number;
    lua_getglobal(state: State, name: LuaString): number;
    lua_gettop(state: State): number;
    lua_newtable(state: State): void;
    lua_next(state: State, index: number): number;
    lua_pcall(state: State, args: number, results: number, handler: number): number;
    lua_pop(state: State, count: number): void;
    lua_pushboolean(state: State, value: boolean): void;
    lua_pushjsfunction(state: State, work: () => number): void;
    lua_pushliteral(state: State, text: string): void;
    lua_pushnil(state: State): void;
    lua_pushnumber(state: State, value: number): void;
    lua_pushstring(state: State, text: LuaString): void;
    lua_rawset(state: State, index: number): void;
    lua_rawseti(state: State, index: number, at: number): void;
    lua_setfield(state: State, index: number, name: LuaString): void;
    lua_setglobal(state: State, name: LuaString): void;
    lua_settop(state: State, index: number): void;
    lua_toboolean(state: State, index: number): boolean;
    lua_tojsstring(state: State, index: number): string;
    lua_tonumber(state: State, index: number): number;
    lua_type(state: State, index: number): number;
  };
  function to_luastring(text: string): LuaString;
  function to_jsstring(text: LuaString): string;
}
