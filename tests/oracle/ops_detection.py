# SPDX-License-Identifier: Apache-2.0
"""Boxes: moving them, choosing among them, and looking into them."""

import math

import nnt
from case import FLOATS, QUANTS, count, operation, to_nchw
from num import RANGE, clamp, f32, mbqm, qm, round_away

EIGHTH = 0.125


def boxes_type(type_):
    return nnt.Q16A if type_ in QUANTS else type_


def eighths(case, value):
    """A coordinate that every type holds exactly."""
    return round(value * 8) / 8


def box_tensor(case, type_, dims, reals):
    """Coordinates as a tensor of the boxes' type."""
    if boxes_type(type_) == nnt.Q16A:
        return case.tensor(nnt.Q16A, dims, [int(r * 8) for r in reals], EIGHTH, 0)
    return case.tensor(type_, dims, list(reals))


def store(type_, reals, scale, zero_point):
    """Reals as elements: a code is the rounded sum of quotient and zero point."""
    if type_ in FLOATS:
        return list(reals)
    low, high = RANGE.get(type_, (0, 65535))
    return [clamp(round_away(f32(f32(r / scale) + zero_point)), low, high) for r in reals]


def box_output(case, type_, dims, reals):
    type_ = boxes_type(type_)
    scale = EIGHTH if type_ == nnt.Q16A else 0.0
    return case.output(type_, dims, store(type_, reals, scale, 0), scale, 0)


def middle(type_):
    """A zero point near the middle of a quantized type's codes; 0 of a float."""
    return sum(RANGE[type_]) // 2 + 1 if type_ in QUANTS else 0


def random_box(case, width, height, smallest=0.5):
    x1, y1 = case.rng.uniform(0, width - smallest), case.rng.uniform(0, height - smallest)
    x2, y2 = case.rng.uniform(x1 + smallest, width), case.rng.uniform(y1 + smallest, height)
    return [eighths(case, v) for v in (x1, y1, x2, y2)]


def transform(box, delta):
    x1, y1, x2, y2 = box
    width, height = x2 - x1, y2 - y1
    x, y = (x1 + x2) / 2 + delta[0] * width, (y1 + y2) / 2 + delta[1] * height
    width, height = width * math.exp(delta[2]), height * math.exp(delta[3])
    return [x - width / 2, y - height / 2, x + width / 2, y + height / 2]


def clip(box, height, width):
    return [clamp(v, 0.0, bound) for v, bound in zip(box, (width, height, width, height))]


def iou(a, b):
    width = max(min(a[2], b[2]) - max(a[0], b[0]), 0.0)
    height = max(min(a[3], b[3]) - max(a[1], b[1]), 0.0)
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - width * height
    return width * height / union if union else math.nan


def suppress(pool, scores, boxes, limit, drops):
    """Takes the best, the first of equals, lets drops(chosen, other) judge the others, and so on.
    What is dropped is replaced by the last of the pool. Returns the chosen."""
    pool, n = list(pool), 0
    while n < len(pool) and n < limit:
        best = max(range(n, len(pool)), key=lambda i: (scores[pool[i]], -i))
        pool[n], pool[best] = pool[best], pool[n]
        i = n + 1
        while i < len(pool):
            if drops(pool[n], pool[i]):
                pool[i] = pool[-1]
                pool.pop()
            else:
                i += 1
        n += 1
    return pool[:n]


def hard(boxes, threshold):
    return lambda a, b: iou(boxes[a], boxes[b]) >= threshold


def quant_params(case, type_):
    return (case.scale(), case.zero_point(type_)) if type_ in QUANTS else (0.0, 0)


def scored(case, type_, n):
    """Distinct scores, or codes; floats between 0 and 1."""
    if type_ in QUANTS:
        return case.values(type_, n)
    return [(i + case.rng.uniform(0.1, 0.9)) / n for i in case.rng.sample(range(n), n)]


def score_tensor(case, type_, dims):
    if type_ in QUANTS:
        low = RANGE[type_][0]
        return case.tensor(type_, dims, scored(case, type_, count(dims)), f32(1 / 256), low)
    return case.tensor(type_, dims, [nnt_round(type_, v) for v in scored(case, type_, count(dims))])


def nnt_round(type_, value):
    return f32(value) if type_ == nnt.F32 else math.ldexp(round(math.ldexp(value, 10)), -10)


@operation('AXIS_ALIGNED_BBOX_TRANSFORM')
def bbox_transform(case, name):
    type_ = case.choose(*(FLOATS + QUANTS))
    n, classes, batches = case.between(1, 6), case.between(1, 3), case.between(1, 3)
    sizes = [(case.between(40, 60), case.between(40, 60)) for _ in range(batches)]
    owners = [case.between(0, batches - 1) for _ in range(n)]
    boxes = [random_box(case, 40, 40) for _ in range(n)]
    rois = box_tensor(case, type_, [n, 4], [v for b in boxes for v in b])
    scale = f32(1 / 128)
    deltas = case.tensor(type_, [n, 4 * classes], scale=scale, zero_point=middle(type_),
                         low=-0.6, high=0.6)
    owner = case.tensor(nnt.I32, [n], owners)
    sizes_operand = box_tensor(case, type_, [batches, 2], [v for s in sizes for v in s])
    moves, values = deltas.real(), []
    for i in range(n):
        for k in range(classes):
            at = (i * classes + k) * 4
            values += clip(transform(boxes[i], moves[at:at + 4]), *sizes[owners[i]])
    out = box_output(case, type_, deltas.dims, values)
    return case.model(name, [rois, deltas, owner, sizes_operand], [out], quant_tolerance=1)


@operation('BOX_WITH_NMS_LIMIT')
def box_with_nms_limit(case, name):
    type_ = case.choose(*(FLOATS + QUANTS))
    n, classes = case.between(1, 8), case.between(2, 4)
    owners = sorted(case.between(0, 2) for _ in range(n))
    boxes = [random_box(case, 30, 30) for _ in range(n * classes)]
    scores = score_tensor(case, type_, [n, classes])
    rois = box_tensor(case, type_, [n, 4 * classes], [v for b in boxes for v in b])
    limit, kernel = case.choose(-1, -1, 1, 3, 6), case.between(0, 2)
    threshold, overlap = case.real(0.1317, type_), case.real(case.choose(0.2137, 0.5171), type_)
    sigma, lowest = case.real(0.5, type_), case.real(case.choose(0.0, 0.0513), type_)
    current = scores.real()

    def drops(a, b):
        shared = iou(boxes[a], boxes[b])
        if kernel == 2:
            current[b] *= math.exp(-shared * shared / sigma.values[0])
        elif not shared < overlap.values[0]:
            current[b] *= 1 - shared if kernel == 1 else 0
        return current[b] < lowest.values[0]
    result = []
    for owner in sorted(set(owners)):
        chosen = []
        for c in range(1, classes):
            pool = [r * classes + c for r in range(n) if owners[r] == owner]
            pool = [i for i in pool if current[i] > threshold.values[0]]
            chosen += suppress(pool, current, boxes, limit if limit >= 0 else n, drops)
        chosen.sort(key=lambda i: -current[i])
        if limit >= 0:
            chosen = chosen[:limit]
        result += sorted(chosen, key=lambda i: i % classes)
    inputs = [scores, rois, case.tensor(nnt.I32, [n], owners), threshold, case.i32(limit), case.i32(kernel),
              overlap, sigma, lowest]
    m = len(result)
    outs = [case.output(type_, [m], store(type_, [current[i] for i in result], scores.scale, scores.zero_point),
                        scores.scale, scores.zero_point),
            box_output(case, type_, [m, 4], [v for i in result for v in boxes[i]]),
            case.output(nnt.I32, [m], [i % classes for i in result]),
            case.output(nnt.I32, [m], [owners[i // classes] for i in result])]
    return case.model(name, inputs, outs, quant_tolerance=1)


@operation('DETECTION_POSTPROCESSING')
def detection_postprocessing(case, name):
    type_ = case.choose(*FLOATS)
    batches, anchors, classes = case.between(1, 2), case.between(1, 6), case.between(2, 4)
    scores = score_tensor(case, type_, [batches, anchors, classes])
    deltas = case.tensor(type_, [batches, anchors, case.choose(4, 4, 6)], low=-0.8, high=0.8)
    places = case.tensor(type_, [anchors, 4], [nnt_round(type_, case.rng.uniform(0.3, 0.9))
                                               for _ in range(4 * anchors)])
    scales = [case.real(case.choose(1.0, 2.0, 5.0), type_) for _ in range(4)]
    regular, background = case.coin(), case.coin()
    limit, per_anchor, per_class = case.between(1, 6), case.between(1, 3), case.between(1, 4)
    threshold, overlap = case.real(0.2137, type_), case.real(0.4137, type_)
    room = limit * (1 if regular else per_anchor)
    outs = [[], [], [], []]
    for b in range(batches):
        points = scores.values[b * anchors * classes:(b + 1) * anchors * classes]
        boxes = [decode(places.values[a * 4:a * 4 + 4], deltas, (b * anchors + a), scales) for a in range(anchors)]
        if regular:
            found = best_regular(points, boxes, classes, per_class, threshold.values[0], overlap.values[0])[:limit]
        else:
            found = best_fast(points, boxes, classes, limit, per_anchor, threshold.values[0], overlap.values[0])
        missing = room - len(found)
        outs[0] += [points[i] for i in found] + [0.0] * missing
        outs[1] += [v for i in found for v in boxes[i // classes]] + [0.0] * 4 * missing
        outs[2] += [i % classes - (0 if background else 1) for i in found] + [0] * missing
        outs[3].append(len(found))
    inputs = [scores, deltas, places] + scales + [case.boolean(regular), case.i32(limit), case.i32(per_anchor),
                                                  case.i32(per_class), threshold, overlap, case.boolean(background)]
    return case.model(name, inputs, [case.output(type_, [batches, room], outs[0]),
                                     case.output(type_, [batches, room, 4], outs[1]),
                                     case.output(nnt.I32, [batches, room], outs[2]),
                                     case.output(nnt.I32, [batches], outs[3])])


def decode(anchor, deltas, row, scales):
    dy, dx, dh, dw = (deltas.values[row * deltas.dims[2] + k] / scales[k].values[0] for k in range(4))
    y, x = anchor[0] + anchor[2] * dy, anchor[1] + anchor[3] * dx
    h, w = anchor[2] * math.exp(dh) / 2, anchor[3] * math.exp(dw) / 2
    return [y - h, x - w, y + h, x + w]


def best_regular(points, boxes, classes, per_class, threshold, overlap):
    by_entry, found = [boxes[i // classes] for i in range(len(points))], []
    for c in range(1, classes):
        pool = [i for i in range(c, len(points), classes) if points[i] > threshold]
        found += suppress(pool, points, by_entry, per_class, hard(by_entry, overlap))
    return sorted(found, key=lambda i: -points[i])


def best_fast(points, boxes, classes, limit, per_anchor, threshold, overlap):
    best = [max(points[a * classes + 1:(a + 1) * classes]) for a in range(len(boxes))]
    pool = [a for a in range(len(boxes)) if best[a] > threshold]
    found = []
    for a in suppress(pool, best, boxes, limit, hard(boxes, overlap)):
        ranked = sorted(range(a * classes + 1, (a + 1) * classes), key=lambda i: -points[i])
        found += ranked[:per_anchor]
    return found


@operation('GENERATE_PROPOSALS')
def generate_proposals(case, name):
    type_ = case.choose(*(FLOATS + QUANTS))
    batches, h, w, anchors = (case.between(1, top) for top in (2, 3, 3, 2))
    nchw = case.coin()
    score_scale, delta_quant = f32(1 / 256), (f32(1 / 128), middle(type_))
    dims = [batches, h, w, anchors]
    scores = score_values = scored(case, type_, count(dims))
    if type_ in FLOATS:
        scores = score_values = [nnt_round(type_, v) for v in scores]
    moves = case.values(type_, 4 * count(dims), -0.5, 0.5)
    low = RANGE.get(type_, (0, 0))[0]
    many = [batches, h, w, 4 * anchors]
    score_operand = case.tensor(type_, *(to_nchw(dims, scores) if nchw else (dims, scores)),
                                scale=score_scale, zero_point=low)
    move_operand = case.tensor(type_, *(to_nchw(many, moves) if nchw else (many, moves)),
                               scale=delta_quant[0], zero_point=delta_quant[1])
    if type_ in QUANTS:
        score_values = [f32((q - low) * score_scale) for q in scores]
        moves = [f32((q - delta_quant[1]) * delta_quant[0]) for q in moves]
    bases = [random_box(case, 16, 16, 4) for _ in range(anchors)]
    flat = [v for b in bases for v in b]
    anchor_operand = (case.tensor(nnt.Q16Y, [anchors, 4], [int(v * 8) for v in flat], EIGHTH, 0)
                      if type_ in QUANTS else case.tensor(type_, [anchors, 4], flat))
    sizes = [(case.between(20, 40), case.between(20, 40)) for _ in range(batches)]
    size_operand = box_tensor(case, type_, [batches, 2], [v for s in sizes for v in s])
    strides = [case.real(case.choose(4.0, 8.0), type_) for _ in range(2)]
    before, after = case.choose(-1, 0, 3, 100), case.choose(-1, 1, 4, 100)
    overlap, smallest = case.real(0.4137, type_), case.real(case.choose(0.0, 1.3), type_)
    found, outs = [], [[], [], []]
    cells = h * w * anchors
    for b in range(batches):
        points = score_values[b * cells:(b + 1) * cells]
        boxes = []
        for i in range(cells):
            y, x = divmod(i // anchors, w)
            shift = [x * strides[1].values[0], y * strides[0].values[0]] * 2
            base = [v + s for v, s in zip(bases[i % anchors], shift)]
            boxes.append(clip(transform(base, moves[(b * cells + i) * 4:(b * cells + i) * 4 + 4]), *sizes[b]))
        pool = list(range(cells))
        if 0 < before < cells:
            pool = sorted(pool, key=lambda i: -points[i])[:before]
        pool = [i for i in pool if fits(boxes[i], smallest.values[0], *sizes[b])]
        found = suppress(pool, points, boxes, after if after > 0 else cells, hard(boxes, overlap.values[0]))
        outs[0] += [points[i] for i in found]
        outs[1] += [v for i in found for v in boxes[i]]
        outs[2] += [b] * len(found)
    n = len(outs[2])
    quant = (score_operand.scale, score_operand.zero_point)
    inputs = [score_operand, move_operand, anchor_operand, size_operand] + strides
    inputs += [case.i32(before), case.i32(after), overlap, smallest, case.boolean(nchw)]
    return case.model(name, inputs, [case.output(type_, [n], store(type_, outs[0], *quant), *quant),
                                     box_output(case, type_, [n, 4], outs[1]),
                                     case.output(nnt.I32, [n], outs[2])], quant_tolerance=1)


def fits(box, smallest, height, width):
    w, h = box[2] - box[0], box[3] - box[1]
    return w > smallest and h > smallest and box[0] + w / 2 < width and box[1] + h / 2 < height


# Regions

class Image:
    """Input 0 of an operation on regions, its values in NHWC order."""

    def __init__(self, case, type_, values=None):
        self.n, self.h, self.w, self.c = (case.between(1, top) for top in (2, 7, 7, 3))
        dims = [self.n, self.h, self.w, self.c]
        self.values = case.values(type_, count(dims))
        self.nchw = case.coin()
        layout = to_nchw(dims, self.values) if self.nchw else (dims, self.values)
        self.operand = case.tensor(type_, *layout)

    def at(self, n, y, x, c):
        return self.values[((n * self.h + y) * self.w + x) * self.c + c]

    def output(self, case, type_, dims, values, scale, zero_point):
        dims, values = to_nchw(dims, values) if self.nchw else (dims, values)
        return case.output(type_, dims, values, scale, zero_point)


def regions(case, type_, image, stride_y, stride_x):
    """Boxes, owners, and their operands; coordinates are exact in every type."""
    n = case.between(1, 4)
    boxes = [random_box(case, image.w * stride_x, image.h * stride_y, 0.25) for _ in range(n)]
    owners = [case.between(0, image.n - 1) for _ in range(n)]
    return boxes, owners, [box_tensor(case, type_, [n, 4], [v for b in boxes for v in b]),
                           case.tensor(nnt.I32, [n], owners)]


def samples(begin, end, cell, cells, ratio, size):
    """(low, high, fraction) of every sample of a cell on one axis."""
    extent = max(end - begin, 1.0) / cells
    n = ratio or math.ceil(extent)
    found = []
    for i in range(n):
        at = begin + cell * extent + (i + 0.5) * extent / n
        low = math.floor(at)
        found.append((size - 1, size - 1, 0.0) if low >= size - 1 else (low, low + 1, at - low))
    return found


@operation('ROI_ALIGN')
def roi_align(case, name):
    type_ = case.choose(*(FLOATS + QUANTS))
    image = Image(case, type_)
    stride_y, stride_x = case.choose(1.0, 2.0, 4.0), case.choose(1.0, 2.0, 4.0)
    boxes, owners, operands = regions(case, type_, image, stride_y, stride_x)
    oh, ow, ry, rx = (case.between(1, 3), case.between(1, 3), case.between(0, 2), case.between(0, 2))
    scale, zero_point = quant_params(case, type_)
    if type_ in QUANTS:
        scale = max(scale, f32(image.operand.scale * 2))  # a weight that is rounded the other way is half a step

    def value(box, owner, i, j, c):
        ys = samples(box[1] / stride_y, box[3] / stride_y, i, oh, ry, image.h)
        xs = samples(box[0] / stride_x, box[2] / stride_x, j, ow, rx, image.w)
        n, total = len(ys) * len(xs), 0
        for y0, y1, fy in ys:
            for x0, x1, fx in xs:
                for y, x, weight in ((y0, x0, (1 - fx) * (1 - fy)), (y0, x1, fx * (1 - fy)),
                                     (y1, x0, (1 - fx) * fy), (y1, x1, fx * fy)):
                    q = image.at(owner, y, x, c)
                    if type_ in FLOATS:
                        total += weight * q
                    else:
                        total += round_away(f32(weight * 255)) * (q - image.operand.zero_point)
        if type_ in FLOATS:
            return total / n
        factor = f32(f32(f32(image.operand.scale / 255) / scale) / n)
        return clamp(mbqm(total, *qm(factor)) + zero_point, *RANGE[type_])
    values = [value(b, o, i, j, c) for b, o in zip(boxes, owners)
              for i in range(oh) for j in range(ow) for c in range(image.c)]
    inputs = [image.operand] + operands + [case.i32(oh), case.i32(ow), case.real(stride_y, type_),
                                           case.real(stride_x, type_), case.i32(ry), case.i32(rx),
                                           case.boolean(image.nchw)]
    out = image.output(case, type_, [len(boxes), oh, ow, image.c], values, scale, zero_point)
    return case.model(name, inputs, [out], quant_tolerance=1)


def pool_range(begin, end, cell, cells, size):
    first = round_away(begin)
    extent = f32(max(round_away(end) - first + 1, 1) / cells)
    return range(min(first + math.floor(f32(cell * extent)), size),
                 min(first + math.ceil(f32((cell + 1) * extent)), size))


@operation('ROI_POOLING')
def roi_pooling(case, name):
    type_ = case.choose(*(FLOATS + QUANTS))
    image = Image(case, type_)
    stride_y, stride_x = case.choose(1.0, 2.0, 4.0), case.choose(1.0, 2.0, 4.0)
    boxes, owners, operands = regions(case, type_, image, stride_y, stride_x)
    oh, ow = case.between(1, 4), case.between(1, 4)

    def value(box, owner, i, j, c):
        ys = pool_range(box[1] / stride_y, box[3] / stride_y, i, oh, image.h)
        xs = pool_range(box[0] / stride_x, box[2] / stride_x, j, ow, image.w)
        cells = [image.at(owner, y, x, c) for y in ys for x in xs]
        return max(cells) if cells else image.operand.zero_point
    values = [value(b, o, i, j, c) for b, o in zip(boxes, owners)
              for i in range(oh) for j in range(ow) for c in range(image.c)]
    inputs = [image.operand] + operands + [case.i32(oh), case.i32(ow), case.real(stride_y, type_),
                                           case.real(stride_x, type_), case.boolean(image.nchw)]
    out = image.output(case, type_, [len(boxes), oh, ow, image.c], values, image.operand.scale,
                       image.operand.zero_point)
    return case.model(name, inputs, [out])


def surface_top(g, tolerance):
    """The offset and value of the top of a quadratic surface through 3 x 3 points."""
    bx, by = -(g[1][2] - g[1][0]) / 2, -(g[2][1] - g[0][1]) / 2
    axx, ayy = g[1][0] - 2 * g[1][1] + g[1][2], g[0][1] - 2 * g[1][1] + g[2][1]
    axy = (g[2][2] - g[2][0] - g[0][2] + g[0][0]) / 4
    det = axx * ayy - axy * axy
    if abs(det) < tolerance + tolerance * axx * ayy:
        return 0.0, 0.0, g[1][1]
    dx, dy = (ayy * bx - axy * by) / det, (axx * by - axy * bx) / det
    most = max(abs(dx), abs(dy))
    if most > 1.5:
        dx, dy = dx * 1.5 / most, dy * 1.5 / most
    bend = (axx * dx + axy * dy) * dx + (axy * dx + ayy * dy) * dy
    return dx, dy, g[1][1] - bx * dx - by * dy + bend / 2


@operation('HEATMAP_MAX_KEYPOINT')
def heatmap_max_keypoint(case, name):
    type_ = case.choose(*(FLOATS + QUANTS))
    n, side, points = case.between(1, 3), case.between(2, 6), case.between(1, 3)
    dims, nchw = [n, side, side, points], case.coin()
    values = case.values(type_, count(dims), 0.0, 0.5)
    if type_ in QUANTS:
        values = [RANGE[type_][0] + case.between(0, 60) for _ in values]
    for b in range(n):
        for k in range(points):  # a peak that is steep enough to be fitted well
            y, x = case.between(0, side - 1), case.between(0, side - 1)
            values[((b * side + y) * side + x) * points + k] = values[0] + 1.5 if type_ in FLOATS else RANGE[type_][1]
    if type_ == nnt.F32:
        values = [f32(v) for v in values]
    elif type_ == nnt.F16:
        values = [nnt_round(type_, v) for v in values]
    operand = case.tensor(type_, *(to_nchw(dims, values) if nchw else (dims, values)),
                          scale=f32(1 / 64), zero_point=RANGE.get(type_, (0, 0))[0])
    if type_ in QUANTS:
        values = [f32((q - operand.zero_point) * operand.scale) for q in values]
    boxes = [random_box(case, 40, 40) for _ in range(n)]
    scores, keypoints = [], []

    def mirrored(i):
        return 1 if i < 0 else side - 2 if i >= side else i
    for b in range(n):
        for k in range(points):
            plane = [[values[((b * side + y) * side + x) * points + k] for x in range(side)] for y in range(side)]
            y, x = max(((y, x) for y in range(side) for x in range(side)), key=lambda p: (plane[p[0]][p[1]], -p[0], -p[1]))
            g = [[plane[mirrored(y + i)][mirrored(x + j)] for j in (-1, 0, 1)] for i in (-1, 0, 1)]
            dx, dy, top = surface_top(g, 1e-3 if type_ == nnt.F16 else 1e-5)
            x1, y1, x2, y2 = boxes[b]
            scores.append(top)
            keypoints += [x1 + (x + dx + 0.5) / side * (x2 - x1), y1 + (y + dy + 0.5) / side * (y2 - y1)]
    quant = (f32(1 / 32), 5) if type_ in QUANTS else (0.0, 0)
    inputs = [operand, box_tensor(case, type_, [n, 4], [v for b in boxes for v in b]), case.boolean(nchw)]
    return case.model(name, inputs, [case.output(type_, [n, points], store(type_, scores, *quant), *quant),
                                     box_output(case, type_, [n, points, 2], keypoints)], quant_tolerance=1)
