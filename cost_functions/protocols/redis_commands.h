// redis_commands.h - table of all Redis commands, from name to operation, keys and reply: a hash table that
// the compiler builds, for redis.cc.
// Source: RESP3. Threads: any (pure).
//
// A name of up to 24 characters is packed into three words of 8 bytes; masking one bit of each byte compares
// upper and lower case alike. Example: "get" and "GET" are both the word 0x544547. About 200 commands have
// 1024 places, so a look-up rarely compares more than one name.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cost_functions/protocols/text.h"
#include "cost_functions/tracker/protocol.h"

namespace weir::redis {

struct Command {
    Operation operation = Operation::kControl;  ///< also of unknown commands
    bool answered = true;                       ///< gets a reply that is no push
    std::uint8_t words_per_key = 0;  ///< when all arguments are keys: 1, or 2 with values; 0: one key
    bool waits = false;              ///< its reply may wait for another client's command, or for replicas
};

namespace command_table {

using enum Operation;

inline constexpr std::string_view kReads =
    "GET STRLEN GETRANGE SUBSTR TTL PTTL EXPIRETIME PEXPIRETIME TYPE KEYS SCAN RANDOMKEY DUMP OBJECT "
    "GETBIT BITCOUNT BITPOS BITFIELD_RO LCS SORT_RO EVAL_RO EVALSHA_RO FCALL_RO HGET HMGET HGETALL "
    "HKEYS HVALS HLEN HEXISTS HSTRLEN HSCAN HRANDFIELD HTTL HPTTL LRANGE LINDEX LLEN LPOS SMEMBERS "
    "SISMEMBER SMISMEMBER SCARD SRANDMEMBER SSCAN SINTERCARD ZRANGE ZREVRANGE ZRANGEBYSCORE "
    "ZREVRANGEBYSCORE ZRANGEBYLEX ZREVRANGEBYLEX ZSCORE ZMSCORE ZCARD ZCOUNT ZLEXCOUNT ZRANK ZREVRANK "
    "ZSCAN ZRANDMEMBER ZINTER ZUNION ZDIFF ZINTERCARD XRANGE XREVRANGE XLEN XPENDING PFCOUNT "
    "GEODIST GEOHASH GEOPOS GEOSEARCH GEORADIUS_RO GEORADIUSBYMEMBER_RO MEMORY DBSIZE";
inline constexpr std::string_view kReadsOfKeys = "MGET EXISTS TOUCH SINTER SUNION SDIFF";
inline constexpr std::string_view kWrites =
    "SET SETEX PSETEX SETNX GETSET RESTORE COPY HSET HMSET HSETNX LPUSH RPUSH LPUSHX RPUSHX LSET SADD "
    "ZADD XADD GEOADD PFADD SINTERSTORE SUNIONSTORE SDIFFSTORE ZRANGESTORE ZINTERSTORE ZUNIONSTORE "
    "ZDIFFSTORE GEOSEARCHSTORE";
inline constexpr std::string_view kWritesOfPairs = "MSET MSETNX";
inline constexpr std::string_view kUpdates =
    "APPEND INCR DECR INCRBY DECRBY INCRBYFLOAT SETRANGE SETBIT BITOP BITFIELD GETEX EXPIRE PEXPIRE "
    "EXPIREAT PEXPIREAT PERSIST RENAME RENAMENX MOVE SORT EVAL EVALSHA FCALL HINCRBY HINCRBYFLOAT "
    "HEXPIRE HPEXPIRE HPERSIST LINSERT LPOP RPOP LMOVE RPOPLPUSH LMPOP "
    "SMOVE SPOP ZINCRBY ZPOPMIN ZPOPMAX ZMPOP XACK XCLAIM "
    "XAUTOCLAIM XGROUP XSETID PFMERGE GEORADIUS GEORADIUSBYMEMBER";
inline constexpr std::string_view kDeletes =
    "GETDEL HDEL LREM LTRIM SREM ZREM ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREMRANGEBYLEX XDEL XTRIM "
    "FLUSHDB FLUSHALL";
inline constexpr std::string_view kDeletesOfKeys = "DEL UNLINK";
inline constexpr std::string_view kFlushes = "SAVE BGSAVE BGREWRITEAOF";
/// XREAD and XREADGROUP wait with the argument BLOCK, which may be any of their arguments.
inline constexpr std::string_view kWaitingReads = "XREAD";
inline constexpr std::string_view kWaitingUpdates =
    "BLPOP BRPOP BLMOVE BRPOPLPUSH BLMPOP BZPOPMIN BZPOPMAX BZMPOP XREADGROUP";
inline constexpr std::string_view kWaitingFlushes = "WAIT WAITAOF";
/// Commands whose replies are pushes, or that get no reply.
inline constexpr std::string_view kUnanswered =
    "SUBSCRIBE UNSUBSCRIBE PSUBSCRIBE PUNSUBSCRIBE SSUBSCRIBE SUNSUBSCRIBE SHUTDOWN";

inline constexpr std::size_t kPlaces = 1024;

/// A name of up to 24 upper-case characters. All zero marks a free place of the table.
using Name = std::array<std::uint64_t, 3>;

struct Entry {
    Name name{};
    Command command;
};

/// Mask that makes a-z upper case and does not change '_'.
inline constexpr std::uint64_t kUpperCase = 0xdfdf'dfdf'dfdf'dfdf;

constexpr std::size_t place_of(const Name& name) {
    constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15;
    return ((name[0] ^ name[1] * 3 ^ name[2] * 5) * kOdd) >> 54;
}
static_assert(kPlaces == 1 << (64 - 54));

constexpr void add(std::array<Entry, kPlaces>& table, std::string_view names, Command command) {
    while (!names.empty()) {
        const std::string_view text = names.substr(0, names.find(' '));
        names.remove_prefix(text.size() == names.size() ? names.size() : text.size() + 1);
        Name name{};
        for (std::size_t i = 0; i < text.size(); i += 8)
            name[i / 8] = text::word(text.substr(i, 8));
        std::size_t place = place_of(name);
        while (table[place].name[0] != 0)
            place = (place + 1) % kPlaces;
        table[place] = {name, command};
    }
}

constexpr std::array<Entry, kPlaces> entries() {
    std::array<Entry, kPlaces> table{};
    add(table, kReads, {kRead, true, 0});
    add(table, kReadsOfKeys, {kRead, true, 1});
    add(table, kWrites, {kWrite, true, 0});
    add(table, kWritesOfPairs, {kWrite, true, 2});
    add(table, kUpdates, {kUpdate, true, 0});
    add(table, kDeletes, {kDelete, true, 0});
    add(table, kDeletesOfKeys, {kDelete, true, 1});
    add(table, kFlushes, {kFlush, true, 0});
    add(table, kWaitingReads, {kRead, true, 0, true});
    add(table, kWaitingUpdates, {kUpdate, true, 0, true});
    add(table, kWaitingFlushes, {kFlush, true, 0, true});
    add(table, kUnanswered, {kControl, false, 0});
    return table;
}
inline constexpr std::array<Entry, kPlaces> kEntries = entries();

inline Command find(const Name& name) {
    for (std::size_t place = place_of(name); kEntries[place].name[0] != 0; place = (place + 1) % kPlaces)
        if (kEntries[place].name == name)
            return kEntries[place].command;
    return {};
}

}  // namespace command_table

/// Looks up a name of at most eight characters, packed with its first one in the lowest byte.
[[nodiscard]] inline Command command(std::uint64_t name) {
    return command_table::find({name & command_table::kUpperCase, 0, 0});
}

/// Looks up a name, in upper or lower case. An unknown name gives a default Command.
[[nodiscard]] inline Command command(Bytes text) {
    command_table::Name name{};
    if (text.empty() || text.size() > sizeof name)
        return {};
    for (std::size_t i = 0; i < text.size(); i += 8)
        name[i / 8] = text::word(text.subspan(i, std::min<std::size_t>(8, text.size() - i))) &
                      command_table::kUpperCase;
    return command_table::find(name);
}

}  // namespace weir::redis
