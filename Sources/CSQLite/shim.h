/* SQLite, with its variadic calls and macros as functions that Swift can import. */
#pragma once
#include <sqlite3.h>

/* Binds text that stays where it is until the statement is reset. */
static inline int cw_bind_text(sqlite3_stmt *statement, int place, const void *text, int length)
{
    return sqlite3_bind_text(statement, place, text, length, SQLITE_STATIC);
}

/* Binds text that SQLite copies. */
static inline int cw_bind_copy(sqlite3_stmt *statement, int place, const void *text, int length)
{
    return sqlite3_bind_text(statement, place, text, length, SQLITE_TRANSIENT);
}

/* Settings of one connection that the header has as variadic calls. */
static inline int cw_set_flag(sqlite3 *database, int flag, int on)
{
    return sqlite3_db_config(database, flag, on, (int *)0);
}
