package static_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm/static"
)

const wordPiece = `{
  "added_tokens": [{"id": 0, "content": "[UNK]", "special": true}],
  "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
    "lowercase": true},
  "pre_tokenizer": {"type": "BertPreTokenizer"},
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 20,
    "vocab": {"[UNK]": 0, "refund": 1, "##s": 2, "money": 3, "back": 4, "!": 5, "cafe": 6, "退": 7, "款": 8}}}`

const unigram = `{
  "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"},
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}, {"type": "Lowercase"},
    {"type": "Strip", "strip_left": true, "strip_right": true}]},
  "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
  "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["▁money", -3], ["▁mon", -2], ["ey", -2],
    ["▁back", -3], ["▁", -2], ["s", -4]]}}`

// array is an array of a table. Its numbers are float64 values or bits.
type array struct {
	kind    string
	shape   []int
	numbers []float64
}

// column returns an array whose rows have one number each.
func column(kind string, numbers ...float64) array {
	return array{kind, []int{len(numbers), 1}, numbers}
}

func (a array) bytes(t *testing.T) []byte {
	t.Helper()
	var bytes []byte
	for _, number := range a.numbers {
		switch a.kind {
		case "F64":
			bytes = binary.LittleEndian.AppendUint64(bytes, math.Float64bits(number))
		case "F32":
			bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(float32(number)))
		case "BF16":
			bytes = binary.LittleEndian.AppendUint16(bytes, uint16(math.Float32bits(float32(number))>>16))
		case "F16 bits":
			bytes = binary.LittleEndian.AppendUint16(bytes, uint16(number))
		case "I64":
			bytes = binary.LittleEndian.AppendUint64(bytes, uint64(int64(number)))
		case "I32":
			bytes = binary.LittleEndian.AppendUint32(bytes, uint32(int32(number)))
		case "I8":
			bytes = append(bytes, byte(int8(number)))
		default:
			t.Fatal("unknown kind", a.kind)
		}
	}
	return bytes
}

// safetensors returns a file with the arrays.
func safetensors(t *testing.T, arrays map[string]array) []byte {
	t.Helper()
	header := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	var data []byte
	for name, a := range arrays {
		bytes := a.bytes(t)
		header[name] = map[string]any{"dtype": strings.Fields(a.kind)[0], "shape": a.shape,
			"data_offsets": []int{len(data), len(data) + len(bytes)}}
		data = append(data, bytes...)
	}
	text, err := json.Marshal(header)
	require.NoError(t, err)
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...), data...)
}

// write returns a folder with a model. An empty text leaves the file out.
func write(t *testing.T, tokenizer, config string, table []byte) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "words")
	require.NoError(t, os.Mkdir(folder, 0o700))
	for name, text := range map[string]string{
		"tokenizer.json": tokenizer, "config.json": config, "model.safetensors": string(table),
	} {
		if text != "" {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
		}
	}
	return folder
}

func open(t *testing.T, tokenizer, config string, arrays map[string]array) *static.Model {
	t.Helper()
	m, err := static.Open(write(t, tokenizer, config, safetensors(t, arrays)))
	require.NoError(t, err)
	return m
}

// number returns the vector of a text under a model with one column.
func number(t *testing.T, m *static.Model, text string) float32 {
	t.Helper()
	vectors, err := m.Embed(t.Context(), []string{text})
	require.NoError(t, err)
	require.Len(t, vectors, 1)
	require.Len(t, vectors[0], 1)
	return vectors[0][0]
}

func TestVectorIsTheMeanOfTheTokens(t *testing.T) {
	t.Parallel()
	m := open(t, wordPiece, "", map[string]array{"embeddings": column("F32", 1000, 1, 2, 3, 4, 5, 6, 7, 8)})
	for text, want := range map[string]float32{
		"refund":                       1,
		"Refunds":                      1.5,
		"money  back":                  3.5,
		"MONEY\tBACK!":                 4,
		"Café!":                        5.5,
		"退款":                           7.5,
		"refund nothing known":         1,
		"refundx":                      0, // A word with an unknown part has no tokens.
		"refunds" + "ssssssssssssssss": 0, // This word is too long.
		"":                             0,
		"[UNK]":                        0,
	} {
		require.InDelta(t, want, number(t, m, text), 1e-6, "%q", text)
	}
}

func TestUnigramTakesTheMostLikelyTokens(t *testing.T) {
	t.Parallel()
	m := open(t, unigram, "", map[string]array{"embeddings": column("F32", 1000, 1, 10, 20, 3, 40, 50)})
	for text, want := range map[string]float32{
		"money back":     2,
		" Ｍoney   BACK ": 2,
		"mon":            10,
		"moneys":         (1 + 50) / 2.0,
		"monx":           10,
		"éa":             40,
	} {
		require.InDelta(t, want, number(t, m, text), 1e-6, "%q", text)
	}
}

func TestTableMayHoldAnyKindOfNumbers(t *testing.T) {
	t.Parallel()
	for kind, numbers := range map[string][]float64{
		"F64": {-2, 1.5}, "F32": {-2, 1.5}, "BF16": {-2, 1.5}, "I8": {-2, 1}, "I32": {-2, 1}, "I64": {-2, 1},
	} {
		m := open(t, wordPiece, "", map[string]array{
			"embeddings": column(kind, numbers...), "mapping": {"I64", []int{9}, []float64{0, 1, 0, 0, 0, 0, 0, 0, 0}},
		})
		require.InDelta(t, numbers[1], number(t, m, "refund"), 1e-9, kind)
		require.InDelta(t, -2, number(t, m, "money"), 1e-9, kind)
	}
	// These are 1, -2, the largest number, the smallest one above 0, infinity, and about a third.
	halves := []float64{0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00, 0x3555, 0, 0, 0}
	m := open(t, wordPiece, "", map[string]array{"embeddings": column("F16 bits", halves...)})
	for text, want := range map[string]float64{"refund": -2, "money": math.Ldexp(1, -24), "!": 0.333251953125} {
		require.InDelta(t, want, number(t, m, text), 1e-12, text)
	}
	require.True(t, math.IsInf(float64(number(t, m, "back")), 1))
}

func TestWeightsMultiplyVectorsOfTokens(t *testing.T) {
	t.Parallel()
	m := open(t, wordPiece, "", map[string]array{
		"embeddings": column("F32", 10, 20),
		"mapping":    {"I32", []int{9}, []float64{0, 1, 0, 1, 0, 0, 0, 0, 0}},
		"weights":    {"F64", []int{9}, []float64{0, 0.5, 2, 0.25, 1, 1, 1, 1, 1}},
	})
	require.InDelta(t, (20*0.5+10*2)/2, number(t, m, "refunds"), 1e-6)
	require.InDelta(t, (20*0.25+10)/2, number(t, m, "money back"), 1e-6)
}

func TestConfigurationMakesVectorsUnits(t *testing.T) {
	t.Parallel()
	table := array{"F32", []int{9, 2}, make([]float64, 18)}
	copy(table.numbers[2:], []float64{3, 0, 0, 4})
	m := open(t, wordPiece, `{"normalize": true}`, map[string]array{"embeddings": table})
	vectors, err := m.Embed(t.Context(), []string{"refunds", "unknown"})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float32{0.6, 0.8}, vectors[0], 1e-6)
	require.Equal(t, []float32{0, 0}, vectors[1])
}

func TestNameTellsFilesApart(t *testing.T) {
	t.Parallel()
	one := open(t, wordPiece, "", map[string]array{"embeddings": column("I8", 1, 1, 2, 3, 4, 5, 6, 7, 8)})
	same := open(t, wordPiece, "", map[string]array{"embeddings": column("I8", 1, 1, 2, 3, 4, 5, 6, 7, 8)})
	other := open(t, wordPiece, "", map[string]array{"embeddings": column("I8", 1, 1, 2, 3, 4, 5, 6, 7, 9)})
	require.Regexp(t, `^words@[0-9a-f]{8}$`, one.Name())
	require.Equal(t, one.Name(), same.Name())
	require.NotEqual(t, one.Name(), other.Name())
}

func TestEmbedCanRunConcurrentlyAndBeCanceled(t *testing.T) {
	t.Parallel()
	m := open(t, wordPiece, "", map[string]array{"embeddings": column("F32", 1000, 1, 2, 3, 4, 5, 6, 7, 8)})
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 50 {
				if vectors, err := m.Embed(context.Background(), []string{"refund", "money"}); err != nil ||
					vectors[0][0] != 1 || vectors[1][0] != 3 {
					t.Error(vectors, err)
				}
			}
		})
	}
	wait.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.Embed(ctx, []string{"refund"})
	require.ErrorIs(t, err, context.Canceled)
	// Only the first 16 KiB of a text count.
	require.InDelta(t, 1, number(t, m, strings.Repeat("refund ", 3000)+strings.Repeat("money ", 3000)), 1e-6)
}

func TestOpenNamesTheFileThatIsWrong(t *testing.T) {
	t.Parallel()
	good := safetensors(t, map[string]array{"embeddings": column("I8", 1, 1, 2, 3, 4, 5, 6, 7, 8)})
	with := func(arrays map[string]array) []byte { return safetensors(t, arrays) }
	replaced := func(old, by string) string {
		require.Contains(t, wordPiece, old)
		return strings.Replace(wordPiece, old, by, 1)
	}
	for name, c := range map[string]struct {
		tokenizer, config string
		table             []byte
		want              string
	}{
		"no tokenizer":   {"", "", good, "tokenizer.json: no such file"},
		"no table":       {wordPiece, "", nil, "model.safetensors: no such file"},
		"no JSON":        {"tokens", "", good, "read tokenizer.json: invalid character"},
		"damaged config": {wordPiece, "{", good, "read config.json: unexpected end"},
		"BPE": {`{"model": {"type": "BPE"}}`, "", good,
			`read tokenizer.json: model: the type "BPE" is not supported, only WordPiece and Unigram are`},
		"byte fallback": {`{"model": {"type": "Unigram", "byte_fallback": true}}`, "", good,
			"read tokenizer.json: model: byte_fallback is not supported"},
		"unigram entry": {`{"model": {"type": "Unigram", "vocab": [["a", "b"]]}}`, "", good,
			"entry 0 of the vocabulary is not a token with a score"},
		"normalizer": {replaced("BertNormalizer", "Magic"), "", good,
			`read tokenizer.json: normalizer: the type "Magic" is not supported`},
		"pre-tokenizer": {replaced("BertPreTokenizer", "Magic"), "", good,
			`read tokenizer.json: pre_tokenizer: the type "Magic" is not supported`},
		"negative id": {replaced(`"money": 3`, `"money": -3`), "", good, `the token "money" has the id -3`},
		"empty table": {wordPiece, "", []byte{}, "model.safetensors: no such file"},
		"short table": {wordPiece, "", good[:5], "read model.safetensors: EOF"},
		"long header": {wordPiece, "", []byte("\xff\xff\xff\xff\xff\xff\xff\x7f"),
			"read model.safetensors: the header has 9223372036854775807 bytes, but at most 1048576 are allowed"},
		"cut table": {wordPiece, "", good[:len(good)-1], "read model.safetensors: embeddings exceeds the end of the file"},
		"no array": {wordPiece, "", with(map[string]array{"other": column("I8", 1)}),
			`read model.safetensors: it has no array "embeddings"`},
		"one dimension": {wordPiece, "", with(map[string]array{"embeddings": {"I8", []int{9}, make([]float64, 9)}}),
			"read model.safetensors: embeddings has 1 dimensions, but must have 2"},
		"no numbers": {wordPiece, "", with(map[string]array{"embeddings": {"I8", []int{9, 0}, nil}}),
			"read model.safetensors: embeddings exceeds the end of the file"},
		"too few rows": {wordPiece, "", with(map[string]array{"embeddings": column("I8", 1, 2, 3)}),
			"read model.safetensors: it has 3 rows for 9 tokens"},
		"too few weights": {wordPiece, "", with(map[string]array{"embeddings": column("I8", make([]float64, 9)...),
			"weights": {"F32", []int{2}, []float64{1, 2}}}), "read model.safetensors: it has 2 rows for 9 tokens"},
		"wrong row": {wordPiece, "", with(map[string]array{"embeddings": column("I8", 1, 2),
			"mapping": {"I64", []int{9}, []float64{0, 0, 0, 0, 2, 0, 0, 0, 0}}}),
			"read model.safetensors: mapping has the row 2, but there are 2 rows"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := static.Open(write(t, c.tokenizer, c.config, c.table))
			require.ErrorContains(t, err, c.want)
		})
	}
}

// charsMap returns a trie that replaces one byte, in the form of SentencePiece.
func charsMap(char byte, by string) string {
	units := make([]uint32, 512)
	units[0] = 1 << 10                                 // the children of the root begin at 1
	units[1^int(char)] = uint32(char) | 1<<8 | 256<<10 // a value follows, at 256 from here
	units[1^int(char)^256] = 1 << 31                   // the value is the offset 0 of the replacements
	data := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, unit := range units {
		data = binary.LittleEndian.AppendUint32(data, unit)
	}
	return base64.StdEncoding.EncodeToString(append(data, by+"\x00"...))
}

func TestPartsOfTokenizersAreFollowed(t *testing.T) {
	t.Parallel()
	const words = `{"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "a": 1, "b": 2, "12": 3, "1": 4,
		"2": 5, "-": 6, "é": 7, "e": 8, "--": 9, "_a": 10, "xa": 11, "-a": 12}}`
	for name, c := range map[string]struct {
		normalizer, split, text string
		want                    []float64
	}{
		"spaces":              {`null`, `{"type": "WhitespaceSplit"}`, "a -- b", []float64{1, 9, 2}},
		"words":               {`null`, `{"type": "Whitespace"}`, "a--_a", []float64{1, 9, 10}},
		"punctuation":         {`null`, `{"type": "Punctuation"}`, "a--b", []float64{1, 6, 6, 2}},
		"digits together":     {`null`, `{"type": "Digits", "individual_digits": false}`, "a12", []float64{1, 3}},
		"digits alone":        {`null`, `{"type": "Digits", "individual_digits": true}`, "a12", []float64{1, 4, 5}},
		"one after the other": {`null`, `{"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Digits"}]}`, "a 12b", []float64{1, 3, 2}},
		"first mark":          {`null`, `{"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "-", "prepend_scheme": "first"}]}`, "a a", []float64{12, 1}},
		"no mark":             {`null`, `{"type": "Metaspace", "replacement": "-", "prepend_scheme": "never"}`, "a a", []float64{1, 12}},
		"composed":            {`{"type": "NFC"}`, `null`, "e\u0301", []float64{7}},
		"no accents":          {`{"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]}`, `null`, "é", []float64{8}},
		"prefix":              {`{"type": "Prepend", "prepend": "x"}`, `null`, "a", []float64{11}},
		"text replaced":       {`{"type": "Replace", "pattern": {"String": "."}, "content": "a"}`, `null`, ".", []float64{1}},
		"trie":                {`{"type": "Precompiled", "precompiled_charsmap": "` + charsMap('z', "a") + `"}`, `{"type": "WhitespaceSplit"}`, "z b z", []float64{1, 2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tokenizer := `{"normalizer": ` + c.normalizer + `, "pre_tokenizer": ` + c.split + `, "model": ` + words + `}`
			table := array{"I8", []int{13, 13}, make([]float64, 169)}
			want := make([]float64, 13)
			for i := range 13 {
				table.numbers[14*i] = 1
			}
			for _, id := range c.want {
				want[int(id)] += 1 / float64(len(c.want))
			}
			m := open(t, tokenizer, "", map[string]array{"embeddings": table})
			vectors, err := m.Embed(t.Context(), []string{c.text})
			require.NoError(t, err)
			for i := range want {
				require.InDelta(t, want[i], vectors[0][i], 1e-6, "token %d", i)
			}
		})
	}
}
