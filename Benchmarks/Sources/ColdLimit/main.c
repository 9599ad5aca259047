// Opens a store and reads a page in a new process: ColdLimit DIRECTORY SCHEMA. The reference of ColdStore.
#include <sqlite_limit.h>
#include <stdio.h>

int main(int count, char **words)
{
    if (count != 3) return 64;
    char path[4096];
    snprintf(path, sizeof path, "%s/limit.sqlite", words[1]);
    limit *store = limit_open(path, words[2], (limit_options){.with_checksum = 1});
    if (store == NULL) return fprintf(stderr, "%s\n", limit_error(NULL)), 1;
    limit_page page = {0};
    int code = limit_read_page(store, limit_find(store, "list"), 0, &page);
    if (code == 0) printf("%lld\n", (long long)page.count);
    limit_page_free(&page);
    limit_close(store);
    return code == 0 ? 0 : 1;
}
