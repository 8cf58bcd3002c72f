/*
 * model.h - the cost model with coefficients that change: predicts measured rows for one device.
 *
 * Owns a copy of the device whose calibration is set again and again, and one cost instance for each engine of the rows.
 */
#ifndef KVSIM_CALIB_MODEL_H
#define KVSIM_CALIB_MODEL_H

#include "calib/measure.h"
#include "cost/cost.h"
#include "cost/rates.h"
#include "spec/hardware.h"

struct scenario;

struct calib_engine {
    struct scenario *scenario;
    struct cost_config config; /* the scenario's, on the model's device and options */
    struct base_arena arena;   /* of `cost` */
    struct cost *cost;         /* NULL: to be made with the coefficients as they are */
};

struct calib_model {
    const struct calib_measurements *table;
    struct base_arena arena;
    const char *hardware_name;
    struct spec_hardware hardware;
    struct cost_options options;
    struct cost_rates rates;
    size_t engine_count;
    struct calib_engine *engines;
};

/*
 * Loads the device and an engine (the default profile) for each of the table's, with the kernels that its rows ran.
 * `level` is COST_DATASHEET or COST_CALIBRATED; the latter begins with the file's own calibration, or with none.
 */
enum kvsim_status calib_model_init(struct calib_model *model, const char *hardware_name,
                                   const struct calib_measurements *table, enum cost_level level,
                                   struct kvsim_error *err) KVSIM_MUST_CHECK;
void calib_model_free(struct calib_model *model);

/* The value that the datasheet level has for a coefficient. */
double calib_model_initial(const struct calib_model *model, enum spec_coefficient coefficient);

void calib_model_set(struct calib_model *model, const struct spec_calibration *calibration);

/* Seconds; NaN for a row that cannot be predicted (a dtype that the device lacks, a kernel without heads). */
double calib_model_predict(struct calib_model *model, const struct calib_row *row);

#endif
