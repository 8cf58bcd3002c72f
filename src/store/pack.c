/*
 * A run as bytes, from the same description of its lists as the tables: what is stored is what is sent.
 */
#include "store/store_int.h"

#include "base/pack.h"

#include <string.h>

static void pack_summary(struct base_pack *pack, struct record_run *run)
{
    base_pack_bytes(pack, run->summary, sizeof run->summary);
    for (size_t i = 0; i < RECORD_SUMMARY_COUNT; i++) {
        if (run->summary[i].kind == RECORD_TEXT)
            base_pack_text(pack, &run->summary[i].text, &run->arena);
    }
}

/* Texts of one column in all rows of a list; their addresses are computed, not typed. */
static void pack_texts(struct base_pack *pack, const struct store_list *list, size_t item_bytes,
                       size_t offset, struct base_arena *arena)
{
    for (size_t i = 0; i < list->count; i++) {
        char *at = (char *)list->at + i * item_bytes + offset;
        const char *text;
        memcpy(&text, at, sizeof text);
        base_pack_text(pack, &text, arena);
        memcpy(at, &text, sizeof text);
    }
}

static void pack_items(struct base_pack *pack, struct record_run *run, size_t list_offset,
                       size_t item_bytes, struct store_list *list)
{
    char *at = (char *)run + list_offset;
    memcpy(list, at, sizeof *list);
    list->at = base_pack_items(pack, list->at, &list->count, &list->capacity, item_bytes);
    memcpy(at, list, sizeof *list);
}

static void pack_list(struct base_pack *pack, const struct store_table *table,
                      struct record_run *run)
{
    struct store_list list, replications;
    pack_items(pack, run, table->list_offset, table->item_bytes, &list);
    for (const struct store_column *column = table->columns; !store_column_is_last(column);
         column++) {
        if (column->type == STORE_TEXT)
            pack_texts(pack, &list, table->item_bytes, column->offset, &run->arena);
    }
    if (table->replications_offset != 0)
        pack_items(pack, run, table->replications_offset, sizeof(uint32_t), &replications);
}

void store_run_pack(struct base_pack *pack, struct record_run *run)
{
    pack_summary(pack, run);
    for (size_t i = 0; i < store_table_count; i++)
        pack_list(pack, &store_tables[i], run);
    base_pack_text(pack, &run->scenario_yaml, &run->arena);
    base_pack_text(pack, &run->created_at, &run->arena);
    base_pack_text(pack, &run->host, &run->arena);
    base_pack_bytes(pack, &run->wall_s, sizeof run->wall_s);
    base_pack_bytes(pack, &run->jobs, sizeof run->jobs);
}
