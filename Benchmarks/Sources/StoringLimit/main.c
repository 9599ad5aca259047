// Measures the share of storing in a first sync: StoringLimit ITEMS PATH SCHEMA. The pages are those of Scripts/list-origin, 100 items
// of 500 bytes each, made in memory. Each page takes two transactions: a lease, then the page with its ledger row.
#include <sqlite_limit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most = 100, bytes = 500, padding = bytes - 60 };

struct page {
    uint8_t layout[1 + 2 + most * 16], payload[most * (bytes + 100)];
    uint64_t hashes[most * 2];
    size_t layout_size, payload_size;
};

// Seven bits a byte, lowest first (LEB128).
static void add(struct page *page, size_t number)
{
    for (; number > 0x7f; number >>= 7) page->layout[page->layout_size++] = (uint8_t)(number | 0x80);
    page->layout[page->layout_size++] = (uint8_t)number;
}

// A number in the place of a hash; its value does not matter to SQLite.
static uint64_t scattered(uint64_t number)
{
    number *= UINT64_C(0x9E3779B97F4A7C15);
    return (number ^ number >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
}

static void fill(struct page *page, long offset, long items, const char *text)
{
    page->layout_size = page->payload_size = 0;
    page->layout[page->layout_size++] = 2;
    add(page, (size_t)items);
    for (long number = offset; number < offset + items; number++) {
        char id[24];
        int id_size = snprintf(id, sizeof id, "%ld", number);
        int size = sprintf(
            (char *)page->payload + page->payload_size, "{\"id\":%ld,\"name\":\"item %ld\",\"text\":\"%s\"}", number, number, text);
        add(page, (size_t)size);
        add(page, (size_t)id_size + 1);
        memcpy(page->layout + page->layout_size, id, (size_t)id_size);
        page->layout_size += (size_t)id_size;
        page->payload_size += (size_t)size;
        page->hashes[(number - offset) * 2] = scattered((uint64_t)number);
        page->hashes[(number - offset) * 2 + 1] = scattered((uint64_t)number + 1);
    }
}

int main(int count, char **words)
{
    if (count != 4) return 64;
    long total = atol(words[1]);
    char text[padding + 1];
    memset(text, 'x', padding);
    text[padding] = 0;
    limit *store = limit_open(words[2], words[3], (limit_options){.with_checksum = 1});
    if (store == NULL) return fprintf(stderr, "%s\n", limit_error(NULL)), 1;
    static struct page page;
    int64_t list = limit_register(store, "list"), now = INT64_C(1800000000000);
    int code = list < 0 ? (int)-list : 0, taken = 0;
    long stored = 0;
    for (long items; code == 0 && stored < total; stored += items, now++) {
        items = total - stored < most ? total - stored : most;
        fill(&page, stored, items, text);
        code = limit_claim(store, list, stored, now, now + 60000, &taken);
        if (code == 0) {
            code = limit_commit_page(
                store, list, stored, items, page.layout, page.layout_size, page.payload, page.payload_size, page.hashes,
                (size_t)items * 16, 0, (uint64_t)stored, now);
        }
    }
    if (code != 0) fprintf(stderr, "%s\n", limit_error(store));
    limit_close(store);
    printf("%ld\n", stored);
    return code == 0 ? 0 : 1;
}
