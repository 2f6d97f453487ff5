/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/notes.h"

#include "metadata_generated.h"

#include <cerrno>
#include <cstdlib>

namespace md = nnhal::tflite::metadata;

namespace
{

enum { MAX_DEPTH = 16, MAX_TABLES = 1 << 16, MAX_NOTES = 1 << 12 };

const char *text_of(const flatbuffers::String *from)
{
    return from ? from->c_str() : "";
}

/* The first of a kind counts; others are of other languages. */
void read_files(const md::TensorMetadata *from, struct tfl_note *to)
{
    for (uint32_t i = 0; from->associated_files() && i < from->associated_files()->size(); i++) {
        const md::AssociatedFile *file = from->associated_files()->Get(i);
        bool is_labels = file->type() == md::AssociatedFileType_TENSOR_AXIS_LABELS ||
                         file->type() == md::AssociatedFileType_TENSOR_VALUE_LABELS;

        if (!file->name())
            continue;
        if (is_labels && !to->labels)
            to->labels = file->name()->c_str();
        if (file->type() == md::AssociatedFileType_TENSOR_AXIS_SCORE_CALIBRATION &&
            !to->calibration)
            to->calibration = file->name()->c_str();
    }
}

void read_units(const md::TensorMetadata *from, struct tfl_note *to)
{
    for (uint32_t i = 0; from->process_units() && i < from->process_units()->size(); i++) {
        const md::ProcessUnit *unit = from->process_units()->Get(i);
        auto norm = unit->options_as_NormalizationOptions();
        auto calibration = unit->options_as_ScoreCalibrationOptions();

        if (norm && norm->mean() && norm->std()) {
            to->n_means = norm->mean()->size();
            to->means = norm->mean()->data();
            to->n_deviations = norm->std()->size();
            to->deviations = norm->std()->data();
        }
        if (calibration) {
            to->transformation = static_cast<enum tfl_transformation>(
                calibration->score_transformation());
            to->default_score = calibration->default_score();
        }
    }
}

void read_content(const md::TensorMetadata *from, struct tfl_note *to)
{
    auto audio = from->content() ? from->content()->content_properties_as_AudioProperties()
                                 : nullptr;

    if (!audio)
        return;
    to->sample_rate = audio->sample_rate();
    to->n_channels = audio->channels();
}

int read_notes(const flatbuffers::Vector<flatbuffers::Offset<md::TensorMetadata>> *from,
               struct tfl_note **ret_notes, uint32_t *ret_n)
{
    uint32_t n = from ? from->size() : 0;

    if (n > MAX_NOTES)
        return -EINVAL;
    *ret_notes = static_cast<struct tfl_note *>(calloc(n ? n : 1, sizeof(**ret_notes)));
    if (!*ret_notes)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        struct tfl_note *to = &(*ret_notes)[i];

        to->title = text_of(from->Get(i)->name());
        to->text = text_of(from->Get(i)->description());
        read_files(from->Get(i), to);
        read_units(from->Get(i), to);
        read_content(from->Get(i), to);
    }
    *ret_n = n;
    return 0;
}

} // namespace

int tfl_notes_parse(const uint8_t *bytes, size_t n_bytes, struct tfl_notes *ret_notes)
{
    flatbuffers::Verifier verifier(bytes, n_bytes, MAX_DEPTH, MAX_TABLES);
    struct tfl_notes notes = {};
    int r;

    if (n_bytes < 8 || !md::ModelMetadataBufferHasIdentifier(bytes) ||
        !md::VerifyModelMetadataBuffer(verifier))
        return -EINVAL;
    const md::ModelMetadata *model = md::GetModelMetadata(bytes);
    const md::SubGraphMetadata *graph = model->subgraph_metadata() &&
                                                model->subgraph_metadata()->size()
                                            ? model->subgraph_metadata()->Get(0)
                                            : nullptr;

    notes.name = text_of(model->name());
    notes.text = text_of(model->description());
    notes.version = text_of(model->version());
    notes.author = text_of(model->author());
    notes.license = text_of(model->license());
    r = read_notes(graph ? graph->input_tensor_metadata() : nullptr, &notes.inputs,
                   &notes.n_inputs);
    if (!r)
        r = read_notes(graph ? graph->output_tensor_metadata() : nullptr, &notes.outputs,
                       &notes.n_outputs);
    if (r)
        tfl_notes_done(&notes);
    else
        *ret_notes = notes;
    return r;
}

void tfl_notes_done(struct tfl_notes *notes)
{
    free(notes->inputs);
    free(notes->outputs);
    *notes = {};
}
