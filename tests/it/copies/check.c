/*
 * The copies of worker/memory, under other names, held against the plainest loops: every length up to several of their steps,
 * overlaps in both directions, and memory after whose last byte, or before whose first, none may be touched.
 */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 4
#define LONGEST 300
#define ROOM (4 * LONGEST)

extern void *ours_memcpy(void *to, const void *from, size_t n);
extern void *ours_memmove(void *to, const void *from, size_t n);
extern int ours_memcmp(const void *left, const void *right, size_t n);
extern int ours_bcmp(const void *left, const void *right, size_t n);

static void hold(int holds, const char *what, size_t n, long other)
{
    if (!holds) {
        printf("%s does not hold for %zu bytes (%ld)\n", what, n, other);
        exit(1);
    }
}

/* Pages between two that nothing may touch. */
static unsigned char *fenced(size_t page)
{
    unsigned char *all = mmap(NULL, (PAGES + 2) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all, page, PROT_NONE) || mprotect(all + (PAGES + 1) * page, page, PROT_NONE)) {
        perror("pages for the check");
        exit(1);
    }
    return all + page;
}

static void fill(unsigned char *at, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        at[i] = (unsigned char)(seed = seed * 1664525u + 1013904223u, seed >> 24);
}

static void copies(unsigned char *to, const unsigned char *from, size_t n)
{
    fill(to, n, 7);
    hold(ours_memcpy(to, from, n) == to, "what memcpy returns", n, 0);
    for (size_t i = 0; i < n; i++)
        hold(to[i] == from[i], "memcpy", n, (long)i);
}

static void moves(unsigned char *room, size_t n, long by)
{
    unsigned char before[ROOM];
    unsigned char *from = room + (ROOM - n) / 2;
    fill(room, ROOM, (unsigned)n);
    for (size_t i = 0; i < ROOM; i++)
        before[i] = room[i];
    hold(ours_memmove(from + by, from, n) == from + by, "what memmove returns", n, by);
    for (size_t i = 0; i < ROOM; i++) {
        long within = (long)i - (long)(from + by - room);
        int moved = within >= 0 && within < (long)n;
        hold(room[i] == (moved ? before[(from - room) + within] : before[i]), "memmove", n, by);
    }
}

static void compares(unsigned char *left, unsigned char *right, size_t n)
{
    fill(left, n, 11);
    fill(right, n, 11);
    hold(ours_memcmp(left, right, n) == 0 && ours_bcmp(left, right, n) == 0, "memcmp of the same", n, 0);
    for (size_t i = 0; i < n; i++) {
        /* What differs after the first difference must not count; values are compared without a sign. */
        unsigned char kept = left[i], last = left[n - 1];
        left[i] = 0x7f;
        right[i] = 0x80;
        if (i + 1 < n) {
            left[n - 1] = 0xff;
            right[n - 1] = 0;
        }
        hold(ours_memcmp(left, right, n) < 0 && ours_memcmp(right, left, n) > 0, "memcmp", n, (long)i);
        hold(ours_bcmp(left, right, n) != 0, "bcmp", n, (long)i);
        left[n - 1] = right[n - 1] = last;
        left[i] = right[i] = kept;
    }
}

int main(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), all = PAGES * page, checked = 0;
    unsigned char *a = fenced(page), *b = fenced(page);
    fill(a, all, 3);
    for (size_t n = 0; n <= LONGEST; n++, checked++) {
        copies(b, a, n);
        copies(b + all - n, a + all - n, n);
        copies(b + all - n, a, n);
        compares(a, b, n);
        compares(a + all - n, b + all - n, n);
        for (long by = -LONGEST; by <= LONGEST; by++)
            moves(a, n, by);
    }
    for (size_t n = all; n > LONGEST; n = n * 9 / 10, checked++) {
        copies(b + all - n, a, n);
        compares(a + all - n, b, n < page ? n : page);
    }
    printf("%zu lengths\n", checked);
    return 0;
}
