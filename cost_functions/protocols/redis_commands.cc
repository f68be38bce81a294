#include "cost_functions/protocols/redis_commands.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace weir::redis {
namespace {

using enum Operation;

constexpr std::string_view kReads =
    "GET STRLEN GETRANGE SUBSTR TTL PTTL EXPIRETIME PEXPIRETIME TYPE KEYS SCAN RANDOMKEY DUMP OBJECT GETBIT "
    "BITCOUNT "
    "BITPOS BITFIELD_RO LCS SORT_RO EVAL_RO EVALSHA_RO FCALL_RO HGET HMGET HGETALL HKEYS HVALS HLEN HEXISTS "
    "HSTRLEN HSCAN "
    "HRANDFIELD HTTL HPTTL LRANGE LINDEX LLEN LPOS SMEMBERS SISMEMBER SMISMEMBER SCARD SRANDMEMBER SSCAN "
    "SINTERCARD "
    "ZRANGE ZREVRANGE ZRANGEBYSCORE ZREVRANGEBYSCORE ZRANGEBYLEX ZREVRANGEBYLEX ZSCORE ZMSCORE ZCARD ZCOUNT "
    "ZLEXCOUNT ZRANK "
    "ZREVRANK ZSCAN ZRANDMEMBER ZINTER ZUNION ZDIFF ZINTERCARD XRANGE XREVRANGE XREAD XLEN XPENDING PFCOUNT "
    "GEODIST GEOHASH "
    "GEOPOS GEOSEARCH GEORADIUS_RO GEORADIUSBYMEMBER_RO MEMORY DBSIZE";
constexpr std::string_view kReadsOfKeys = "MGET EXISTS TOUCH SINTER SUNION SDIFF";
constexpr std::string_view kWrites =
    "SET SETEX PSETEX SETNX GETSET RESTORE COPY HSET HMSET HSETNX LPUSH RPUSH LPUSHX RPUSHX LSET SADD ZADD "
    "XADD GEOADD PFADD "
    "SINTERSTORE SUNIONSTORE SDIFFSTORE ZRANGESTORE ZINTERSTORE ZUNIONSTORE ZDIFFSTORE GEOSEARCHSTORE";
constexpr std::string_view kWritesOfPairs = "MSET MSETNX";
constexpr std::string_view kUpdates =
    "APPEND INCR DECR INCRBY DECRBY INCRBYFLOAT SETRANGE SETBIT BITOP BITFIELD GETEX EXPIRE PEXPIRE EXPIREAT "
    "PEXPIREAT "
    "PERSIST RENAME RENAMENX MOVE SORT EVAL EVALSHA FCALL HINCRBY HINCRBYFLOAT HEXPIRE HPEXPIRE HPERSIST "
    "LINSERT LPOP RPOP "
    "LMOVE RPOPLPUSH LMPOP BLPOP BRPOP BLMOVE BRPOPLPUSH BLMPOP SMOVE SPOP ZINCRBY ZPOPMIN ZPOPMAX ZMPOP "
    "BZPOPMIN BZPOPMAX "
    "BZMPOP XREADGROUP XACK XCLAIM XAUTOCLAIM XGROUP XSETID PFMERGE GEORADIUS GEORADIUSBYMEMBER";
constexpr std::string_view kDeletes =
    "GETDEL HDEL LREM LTRIM SREM ZREM ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREMRANGEBYLEX XDEL XTRIM FLUSHDB "
    "FLUSHALL";
constexpr std::string_view kDeletesOfKeys = "DEL UNLINK";
constexpr std::string_view kFlushes = "SAVE BGSAVE BGREWRITEAOF WAIT WAITAOF";
/// Their replies are pushes, or there is none.
constexpr std::string_view kUnanswered =
    "SUBSCRIBE UNSUBSCRIBE PSUBSCRIBE PUNSUBSCRIBE SSUBSCRIBE SUNSUBSCRIBE SHUTDOWN";

constexpr std::size_t kPlaces = 1024;  // about four times as many as there are commands
constexpr std::size_t kNameMax = 20;

struct Entry {
    std::string_view name;
    Command command;
};

constexpr char upper(char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

constexpr std::size_t place_of(std::string_view name) {
    std::uint32_t hash = 0;
    for (const char c : name)
        hash = (hash ^ static_cast<std::uint8_t>(upper(c))) * 0x0100'0193U;
    return (hash ^ hash >> 15) % kPlaces;
}

constexpr void add(std::array<Entry, kPlaces>& table, std::string_view names, Command command) {
    while (!names.empty()) {
        const std::string_view name = names.substr(0, names.find(' '));
        names.remove_prefix(name.size() == names.size() ? names.size() : name.size() + 1);
        std::size_t place = place_of(name);
        while (!table[place].name.empty())
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
    add(table, kUnanswered, {kControl, false, 0});
    return table;
}
constexpr std::array<Entry, kPlaces> kEntries = entries();

constexpr bool same(std::string_view name, std::string_view given) {
    if (name.size() != given.size())
        return false;
    for (std::size_t i = 0; i < name.size(); ++i)
        if (name[i] != upper(given[i]))
            return false;
    return true;
}

}  // namespace

Command command(Bytes name) {
    const std::string_view text(reinterpret_cast<const char*>(name.data()), name.size());
    if (text.size() > kNameMax)
        return {};
    for (std::size_t place = place_of(text); !kEntries[place].name.empty(); place = (place + 1) % kPlaces)
        if (same(kEntries[place].name, text))
            return kEntries[place].command;
    return {};
}

}  // namespace weir::redis
