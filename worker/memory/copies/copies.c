/*
 * memcpy, memmove, memcmp and bcmp of static programs on x86-64, in place of musl's: its memcpy is `rep movsq`, which takes
 * some dozens of cycles before the first byte, and its memcmp goes byte by byte. Why, and what it gains:
 * docs/decisions/0024-copies-of-static-programs.md.
 *
 * Nothing outside the n bytes is read or written, and the two places of a copy may lie over each other, of memcpy's too. A
 * copy begins and ends with whole values, which may lie over each other: no byte is a case of its own. They are read before
 * anything is written.
 */

#include <stddef.h>
#include <stdint.h>

typedef uint8_t vec __attribute__((vector_size(16)));

/* Reads and writes of any alignment; the compiler makes one instruction of each. */
#define ACCESS(type)                                             \
    static inline type get_##type(const unsigned char *from)     \
    {                                                            \
        type value;                                              \
        __builtin_memcpy(&value, from, sizeof value);            \
        return value;                                            \
    }                                                            \
    static inline void put_##type(unsigned char *to, type value) \
    {                                                            \
        __builtin_memcpy(to, &value, sizeof value);              \
    }

ACCESS(uint16_t)
ACCESS(uint32_t)
ACCESS(uint64_t)
ACCESS(vec)

/* As many bytes as two values of the type hold, or fewer, down to one value: the two may lie over each other. */
#define ENDS(type)                                                   \
    do {                                                             \
        type first = get_##type(from);                               \
        type last = get_##type(from + n - sizeof(type));             \
        put_##type(to, first);                                       \
        put_##type(to + n - sizeof(type), last);                     \
    } while (0)

/* Sixty-four bytes, all read before the first is written. */
static inline void step(unsigned char *to, const unsigned char *from)
{
    vec a = get_vec(from), b = get_vec(from + 16), c = get_vec(from + 32), d = get_vec(from + 48);
    put_vec(to, a);
    put_vec(to + 16, b);
    put_vec(to + 32, c);
    put_vec(to + 48, d);
}

/* The steps go the way in which none writes over what a later one reads. */
static void *longer(unsigned char *to, const unsigned char *from, size_t n)
{
    const unsigned char *end = from + n - 64;
    vec a = get_vec(from), b = get_vec(from + 16), c = get_vec(from + 32), d = get_vec(from + 48);
    vec e = get_vec(end), f = get_vec(end + 16), g = get_vec(end + 32), h = get_vec(end + 48);
    if ((uintptr_t)to - (uintptr_t)from >= n)
        for (size_t at = 64; at < n - 64; at += 64)
            step(to + at, from + at);
    else
        for (size_t at = n - 64; at > 64; at -= 64)
            step(to + at - 64, from + at - 64);
    put_vec(to, a);
    put_vec(to + 16, b);
    put_vec(to + 32, c);
    put_vec(to + 48, d);
    put_vec(to + n - 64, e);
    put_vec(to + n - 48, f);
    put_vec(to + n - 32, g);
    put_vec(to + n - 16, h);
    return to;
}

void *memmove(void *target, const void *source, size_t n)
{
    unsigned char *to = target;
    const unsigned char *from = source;
    if (n > 64)
        return longer(to, from, n);
    if (n > 32) {
        vec a = get_vec(from), b = get_vec(from + 16), c = get_vec(from + n - 32), d = get_vec(from + n - 16);
        put_vec(to, a);
        put_vec(to + 16, b);
        put_vec(to + n - 32, c);
        put_vec(to + n - 16, d);
    } else if (n > 16) {
        ENDS(vec);
    } else if (n >= 8) {
        ENDS(uint64_t);
    } else if (n >= 4) {
        ENDS(uint32_t);
    } else if (n >= 2) {
        ENDS(uint16_t);
    } else if (n == 1) {
        *to = *from;
    }
    return target;
}

void *memcpy(void *restrict target, const void *restrict source, size_t n) __attribute__((alias("memmove")));

/* The first byte in memory decides, which is the lowest of a little-endian word. */
static inline int order(uint64_t a, uint64_t b)
{
    a = __builtin_bswap64(a);
    b = __builtin_bswap64(b);
    return (a > b) - (a < b);
}

int memcmp(const void *left, const void *right, size_t n)
{
    const unsigned char *a = left, *b = right;
    if (n < 8) {
        for (size_t at = 0; at < n; at++)
            if (a[at] != b[at])
                return a[at] - b[at];
        return 0;
    }
    for (size_t at = 0; at < n - 8; at += 8)
        if (get_uint64_t(a + at) != get_uint64_t(b + at))
            return order(get_uint64_t(a + at), get_uint64_t(b + at));
    return order(get_uint64_t(a + n - 8), get_uint64_t(b + n - 8));
}

int bcmp(const void *left, const void *right, size_t n) __attribute__((alias("memcmp")));
