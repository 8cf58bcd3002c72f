/*
 * model_load.c - `model` of a scenario: a name, a path, a mapping, or {hf_config: PATH, changes}.
 */
#include "scenario/model_opts.h"

#include "base/error.h"

/* {hf_config: PATH, changes}: the file's tree with the changes laid on it. */
static bool load_config(struct scenario_reader *reader, struct conf_node *entry,
                        struct conf_node **tree)
{
    const struct conf_node *file = conf_get(entry, "hf_config");
    struct kvsim_error err;
    if (file->kind != CONF_SCALAR)
        return scenario_fail(reader, file, "model.hf_config", "wrong-type",
                             "'hf_config' must be the path of a file");
    const char *path = scenario_find_file(reader, file, "model.hf_config", file->text);
    struct conf_node *config;
    if (path == NULL)
        return false;
    if (conf_read_file(reader->arena, path, &config, &err) != KVSIM_OK)
        return scenario_fail_error(reader, file, "model.hf_config", &err);
    if (config->kind != CONF_MAP)
        return scenario_fail(reader, config, "model.hf_config", "wrong-type",
                             "a config must be a mapping");
    conf_set_origin(config, CONF_ORIGIN_PROFILE);
    *tree = conf_overlay(reader->arena, scenario_config_flatten(reader, config), entry);
    scenario_drop(*tree, "hf_config");
    return true;
}

/* A config.json has no name of its own but for the id it was saved under. */
static void name_config(struct scenario_reader *reader, struct conf_node *tree,
                        const struct conf_node *entry)
{
    if (!conf_is_null(conf_get(tree, "name")))
        return;
    const struct conf_node *id = conf_get(tree, "_name_or_path"),
                           *file = conf_get(entry, "hf_config");
    const char *name = id != NULL && id->kind == CONF_SCALAR && id->text[0] != '\0'
                           ? scenario_base_name(id->text)
                           : scenario_base_name(file->text);
    struct conf_node *node = conf_new_scalar(reader->arena, name);
    node->origin = CONF_ORIGIN_DEFAULT;
    conf_put(reader->arena, tree, "name", node);
}

bool scenario_model_load(struct scenario_reader *reader, struct conf_node *root,
                         struct spec_model *out, struct conf_node **tree)
{
    struct conf_node *entry = conf_get(root, "model");
    bool from_config = entry->kind == CONF_MAP && !conf_is_null(conf_get(entry, "hf_config"));
    if (from_config) {
        if (!load_config(reader, entry, tree))
            return false;
        name_config(reader, *tree, entry);
    } else if (!scenario_entry_load(reader, SCENARIO_MODEL, entry, "model", tree)) {
        return false;
    }
    bool as_config =
        from_config || (entry->kind == CONF_SCALAR && base_ends_with(entry->text, ".json"));
    if (!scenario_model_read(reader, *tree, "model", as_config, out))
        return false;
    scenario_param_tree(reader, "model", *tree);
    return true;
}
