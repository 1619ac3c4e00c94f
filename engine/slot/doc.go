// Package slot fills the arguments of tools from what people write. [ReadTools] reads the JSON Schemas of tools.
// [Property.ValueIn] finds the value of an argument in a text: dates, names, numbers, codes and choices, by the readers
// of package read. It uses no language model, so the same text always gives the same value.
package slot
