# SPDX-License-Identifier: Apache-2.0
"""The generator behind hal/halgen.py.

text    characters to words, with lines and comments
tree    what a .hal file declares, as objects
parse   words to tree
rules   what a tree must hold to; links names to what they mean
header  tree to the two C headers
tables  tree to the codec's tables
page    tree to doc/hal.md
seeds   tree to packets, by an encoder of its own: fuzz seeds and a second opinion
"""
