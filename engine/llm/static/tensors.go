package static

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
)

const (
	// maxHeader bounds the header of a file, in bytes.
	maxHeader = 1 << 20
	// maxColumns is the maximum length of a vector, as in pgvector.
	maxColumns = 16_000
)

// tensors are the arrays in a safetensors file. The file has the length of its header in 8 bytes, the header as JSON,
// and the numbers.
type tensors struct {
	file   io.ReaderAt
	header map[string]tensor
	// start is the offset of the numbers, and size their length, in bytes.
	start, size int64
}

// tensor is the description of an array. Offsets are the first byte and the byte after the last.
type tensor struct {
	Type    string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// kind is a kind of numbers: their size in bytes, and how to read one.
type kind struct {
	bytes int64
	read  func([]byte) float64
}

var kinds = map[string]kind{
	"F64": {8, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }},
	"F32": {4, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }},
	"F16": {2, func(b []byte) float64 { return half(binary.LittleEndian.Uint16(b)) }},
	"BF16": {2, func(b []byte) float64 {
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
	}},
	"I64": {8, func(b []byte) float64 { return float64(int64(binary.LittleEndian.Uint64(b))) }}, //nolint:gosec // signed
	"I32": {4, func(b []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(b))) }}, //nolint:gosec // signed
	"I8":  {1, func(b []byte) float64 { return float64(int8(b[0])) }},                           //nolint:gosec // signed
}

// half converts a number of 16 bits: a sign, 5 bits of the exponent and 10 of the fraction.
func half(bits uint16) float64 {
	exponent, fraction := int(bits>>10&0x1f), float64(bits&0x3ff)
	sign := 1.0
	if bits>>15 == 1 {
		sign = -1
	}
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 0x1f:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// openTensors opens a file and reads its header. The file stays open for the life of the process.
func openTensors(path string) (*tensors, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	t, err := readTensors(file)
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("read %s: %w", tableFile, err)
	}
	return t, nil
}

func readTensors(file *os.File) (*tensors, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	var length [8]byte
	if _, err := file.ReadAt(length[:], 0); err != nil {
		return nil, err
	}
	bytes := binary.LittleEndian.Uint64(length[:])
	if bytes > maxHeader {
		return nil, fmt.Errorf("the header has %d bytes, but at most %d are allowed", bytes, maxHeader)
	}
	text := make([]byte, bytes)
	if _, err := file.ReadAt(text, int64(len(length))); err != nil {
		return nil, err
	}
	t := &tensors{file: file, start: int64(len(length) + len(text))}
	t.size = info.Size() - t.start
	// Metadata in the header becomes an array that nobody asks for.
	return t, json.Unmarshal(text, &t.header)
}

// find returns an array with the given number of dimensions, with its kind. It returns an error if the array does not
// lie within the file.
func (t *tensors) find(name string, dimensions int) (tensor, kind, error) {
	one := t.header[name]
	k, known := kinds[one.Type]
	if !known {
		return one, k, fmt.Errorf("%s has numbers of the type %q, which is not supported", name, one.Type)
	}
	if len(one.Shape) != dimensions {
		return one, k, fmt.Errorf("%s has %d dimensions, but must have %d", name, len(one.Shape), dimensions)
	}
	count := int64(1)
	for _, length := range one.Shape {
		if length < 1 || count > t.size/length {
			return one, k, fmt.Errorf("%s exceeds the end of the file", name)
		}
		count *= length
	}
	from, to := one.Offsets[0], one.Offsets[1]
	if from < 0 || to > t.size || to-from != count*k.bytes {
		return one, k, fmt.Errorf("%s exceeds the end of the file", name)
	}
	return one, k, nil
}

// numbers returns the one-dimensional array with the name, or nil if the file has none.
func (t *tensors) numbers(name string) ([]float64, error) {
	if _, has := t.header[name]; !has {
		return nil, nil
	}
	one, k, err := t.find(name, 1)
	if err != nil {
		return nil, err
	}
	bytes := make([]byte, one.Offsets[1]-one.Offsets[0])
	if _, err := t.file.ReadAt(bytes, t.start+one.Offsets[0]); err != nil {
		return nil, err
	}
	numbers := make([]float64, one.Shape[0])
	for i := range numbers {
		numbers[i] = k.read(bytes[int64(i)*k.bytes:])
	}
	return numbers, nil
}

// table is an array of two dimensions, whose rows are read one at a time.
type table struct {
	kind
	file          io.ReaderAt
	start         int64
	rows, columns int
}

func (t *tensors) table(name string) (*table, error) {
	if _, has := t.header[name]; !has {
		return nil, fmt.Errorf("it has no array %q", name)
	}
	one, k, err := t.find(name, 2)
	if err != nil {
		return nil, err
	}
	if one.Shape[1] > maxColumns {
		return nil, fmt.Errorf("%s has vectors of %d numbers, but at most %d are allowed", name, one.Shape[1], maxColumns)
	}
	return &table{k, t.file, t.start + one.Offsets[0], int(one.Shape[0]), int(one.Shape[1])}, nil
}

// row reads a row. It is safe for concurrent use.
func (t *table) row(number int, into []float64) error {
	row := make([]byte, t.bytes*int64(t.columns))
	if _, err := t.file.ReadAt(row, t.start+int64(number)*int64(len(row))); err != nil {
		return err
	}
	for i := range into {
		into[i] = t.read(row[int64(i)*t.bytes:])
	}
	return nil
}
