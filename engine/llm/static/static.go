// Package static is an [llm.Embedder] that needs no provider: a table with a vector for each token, as the library
// Model2Vec writes it. The vector of a text is the mean of its tokens' vectors. Start reading at [Open].
package static

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// maxText bounds the embedded part of a text, in bytes.
const maxText = 16 << 10

// These are the files of a model.
const tokenizerFile, tableFile, configFile = "tokenizer.json", "model.safetensors", "config.json"

// Model is an llm.Embedder for a model in files. The table stays on disk, in the cache of the operating system.
type Model struct {
	name      string
	tokenizer *tokenizer
	table     *table
	// weights multiply the vectors of tokens, and rows are the tokens' rows in the table. Either may be nil.
	weights []float64
	rows    []int
	// isUnit makes all vectors have the length 1.
	isUnit bool
}

// Open returns the model in a folder with tokenizer.json, model.safetensors and, optionally, config.json. It returns an
// error that names the file if a file is missing, damaged or of an unsupported kind. The files must not change while
// the model is used.
func Open(folder string) (*Model, error) {
	m := &Model{}
	var config struct {
		Normalize bool `json:"normalize"`
	}
	text, err := os.ReadFile(filepath.Join(folder, configFile))
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", configFile, err)
	}
	m.isUnit = config.Normalize
	if text, err = os.ReadFile(filepath.Join(folder, tokenizerFile)); err != nil {
		return nil, err
	}
	if m.tokenizer, err = readTokenizer(text); err != nil {
		return nil, fmt.Errorf("read %s: %w", tokenizerFile, err)
	}
	if err := m.readTable(filepath.Join(folder, tableFile)); err != nil {
		return nil, err
	}
	m.name, err = nameOf(folder)
	return m, err
}

// readTable opens the table and checks that it has a row for each token.
func (m *Model) readTable(path string) error {
	tensors, err := openTensors(path)
	if err != nil {
		return err
	}
	if m.table, err = tensors.table("embeddings"); err != nil {
		return fmt.Errorf("read %s: %w", tableFile, err)
	}
	if m.weights, err = tensors.numbers("weights"); err != nil {
		return fmt.Errorf("read %s: %w", tableFile, err)
	}
	mapping, err := tensors.numbers("mapping")
	if err != nil {
		return fmt.Errorf("read %s: %w", tableFile, err)
	}
	for _, row := range mapping {
		if row < 0 || row >= float64(m.table.rows) {
			return fmt.Errorf("read %s: mapping has the row %g, but there are %d rows", tableFile, row, m.table.rows)
		}
		m.rows = append(m.rows, int(row))
	}
	rows := m.table.rows
	if m.rows != nil {
		rows = len(m.rows)
	}
	if m.weights != nil {
		rows = min(rows, len(m.weights))
	}
	if m.tokenizer.tokens > rows {
		return fmt.Errorf("read %s: it has %d rows for %d tokens", tableFile, rows, m.tokenizer.tokens)
	}
	return nil
}

// nameOf returns the folder's name with a hash of the files, because vectors of different files cannot be compared.
func nameOf(folder string) (string, error) {
	hash := sha256.New()
	for _, name := range []string{configFile, tokenizerFile, tableFile} {
		file, err := os.Open(filepath.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = io.Copy(hash, file)
		if err = errors.Join(err, file.Close()); err != nil {
			return "", err
		}
	}
	path, err := filepath.Abs(folder)
	return filepath.Base(path) + "@" + hex.EncodeToString(hash.Sum(nil)[:4]), err
}

// Name returns the name of the folder with a hash of the files.
func (m *Model) Name() string { return m.name }

// Embed implements llm.Embedder. A text without a known token has a vector of zeros.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if vectors[i], err = m.embed(text); err != nil {
			return nil, err
		}
	}
	return vectors, nil
}

func (m *Model) embed(text string) ([]float32, error) {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	ids := m.tokenizer.encode(text)
	sum, row := make([]float64, m.table.columns), make([]float64, m.table.columns)
	for _, id := range ids {
		weight := 1.0
		if m.weights != nil {
			weight = m.weights[id]
		}
		if m.rows != nil {
			id = m.rows[id]
		}
		if err := m.table.row(id, row); err != nil {
			return nil, fmt.Errorf("read %s: %w", tableFile, err)
		}
		for i, number := range row {
			sum[i] += weight * number
		}
	}
	scale := 1 / float64(max(len(ids), 1))
	if m.isUnit {
		var square float64
		for _, number := range sum {
			square += number * number
		}
		scale = 1 / max(math.Sqrt(square), 1e-32)
	}
	vector := make([]float32, len(sum))
	for i, number := range sum {
		vector[i] = float32(number * scale)
	}
	return vector, nil
}
