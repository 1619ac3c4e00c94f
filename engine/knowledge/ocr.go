package knowledge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // for DecodeConfig
	_ "image/jpeg" // for DecodeConfig
	"image/png"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/requests"
)

// OCR is a program that recognizes text in pictures. It reads a picture from standard input, takes the arguments of
// Tesseract, and writes the text.
type OCR struct {
	// Program is the program's path. If it is empty, pictures are not read.
	Program string
	// Languages are the languages of the text in the program's notation, such as eng+fra.
	Languages string
}

const (
	// maxScanned bounds the pages of scanned PDFs to read, and maxScans their pictures together, in bytes.
	maxScanned, maxScans = 50, 32 << 20
	// scanWidth and scanHeight bound the picture of a page, in pixels: about 200 per inch.
	scanWidth, scanHeight = 1_700, 2_400
	// scanWork is the processor time allowed for drawing a page.
	scanWork = time.Second
	// maxPixels bounds pictures, because the program needs several bytes per pixel.
	maxPixels = 40_000_000
	// pictureTimeout bounds the program's time for one picture, and fileTimeout its time for one file.
	pictureTimeout, fileTimeout = time.Minute, 5 * time.Minute
	// maxRecognized bounds the program's output for one picture, in bytes.
	maxRecognized = 1 << 20
)

var quickly = png.Encoder{CompressionLevel: png.BestSpeed}

// errPicture and errScanned are returned for files that contain only pictures.
var (
	errPicture = unreadable("the file is an image, and this server does not recognize text in images")
	errScanned = unreadable("the PDF contains no text: its pages may be scanned")
)

// errRecognizing is returned while another file's pictures are being read.
const errRecognizing busyError = "it waits until the text in another file has been recognized"

// recognizer reads pictures, one file at a time.
type recognizer struct {
	OCR
	scanLimits
	busy sync.Mutex
}

// scanLimits are maxScanned and maxScans, pictureTimeout and fileTimeout.
type scanLimits struct {
	pages, bytes  int
	picture, file time.Duration
}

// newRecognizer returns nil without a program.
func newRecognizer(o OCR) *recognizer {
	if o.Program == "" {
		return nil
	}
	return &recognizer{OCR: o, scanLimits: scanLimits{maxScanned, maxScans, pictureTimeout, fileTimeout}}
}

// reads reports whether the error means that a file has only pictures, and r can read them.
func (r *recognizer) reads(fault error) bool {
	return r != nil && (errors.Is(fault, errPicture) || errors.Is(fault, errScanned))
}

// recognizeText returns the text in a picture or a scanned PDF. The error is errRecognizing if the caller should retry
// later.
func (r *recognizer) recognizeText(ctx context.Context, content []byte) (Text, error) {
	if !r.busy.TryLock() {
		return Text{}, errRecognizing
	}
	defer r.busy.Unlock()
	pictures, warning, err := [][]byte{content}, "", error(nil)
	if isPDF(content) {
		pictures, warning, err = renderScans(ctx, content, r.scanLimits)
	} else {
		err = checkPictureSize(content)
	}
	if err != nil {
		return Text{}, err
	}
	text := Text{limit: maxText, Warning: "its text was recognized in images and may have mistakes" + warning}
	reading, cancel := context.WithTimeout(ctx, r.file)
	defer cancel()
	for _, picture := range pictures {
		written, err := r.recognize(reading, picture)
		if ctx.Err() != nil {
			return Text{}, ctx.Err()
		}
		if err != nil {
			return Text{}, err
		}
		for part := range strings.SplitSeq(strings.ReplaceAll(written, "\f", "\n\n"), "\n\n") {
			text.addBlock(Block{Text: part})
		}
	}
	if len(text.Blocks) == 0 {
		return Text{}, unreadable("no text was recognized in the file")
	}
	return text, nil
}

// recognize runs the program. It kills the program when ctx ends, after a minute, or when it writes too much.
func (r *recognizer) recognize(ctx context.Context, picture []byte) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.picture)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.Program, "stdin", "stdout", "-l", r.Languages)
	// One thread takes hardly longer than four that wait for each other, and leaves the other cores to conversations.
	// The environment excludes the gateway's keys.
	cmd.Env = []string{"OMP_THREAD_LIMIT=1", "PATH=" + os.Getenv("PATH")}
	if data := os.Getenv("TESSDATA_PREFIX"); data != "" {
		cmd.Env = append(cmd.Env, "TESSDATA_PREFIX="+data)
	}
	cmd.Stdin = bytes.NewReader(picture)
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start the OCR program: %w", err)
	}
	written, readErr := io.ReadAll(io.LimitReader(out, maxRecognized+1))
	if len(written) > maxRecognized {
		cancel()
	}
	err = cmd.Wait()
	switch {
	case len(written) > maxRecognized:
		return "", unreadable("more than 1 MiB of text was recognized in one image")
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", unreadable("recognizing the text took longer than a minute for an image, or five minutes for the file")
	case err != nil || readErr != nil:
		return "", unreadable("text could not be recognized: the image is damaged or has an unknown format")
	}
	return strings.ToValidUTF8(string(written), ""), nil
}

// checkPictureSize returns an error for pictures with too many or an unknown number of pixels.
func checkPictureSize(picture []byte) error {
	config, _, err := image.DecodeConfig(bytes.NewReader(picture))
	switch {
	case err != nil:
		return unreadable("the image is damaged, or is not a PNG, JPEG or GIF")
	case config.Width*config.Height > maxPixels:
		return unreadable("the image has more than 40 million pixels")
	}
	return nil
}

// renderScans renders the first pages of a PDF, within the limits.
func renderScans(ctx context.Context, content []byte, limits scanLimits) ([][]byte, string, error) {
	type result struct {
		pictures [][]byte
		warning  string
	}
	// A reader that does not stop with its context is abandoned.
	done := make(chan result, 1)
	draws, err := pdfReader(ctx, func(ctx context.Context, reader pdfium.Pdfium, content []byte) (Text, error) {
		pictures, warning, err := renderPages(ctx, reader, content, limits)
		done <- result{pictures, warning}
		return Text{}, err
	})
	if err != nil {
		return nil, "", err
	}
	if _, err := readWithLimits(ctx, draws, content); err != nil {
		return nil, "", err
	}
	r := <-done
	return r.pictures, r.warning, nil
}

func renderPages(ctx context.Context, reader pdfium.Pdfium, content []byte,
	limits scanLimits) (pictures [][]byte, warning string, err error) {
	document, count, err := openPDF(reader, content)
	if err != nil {
		return nil, "", unreadable("the PDF is damaged")
	}
	size := 0
	for i := range count {
		if i == limits.pages || size > limits.bytes {
			return pictures, fmt.Sprintf("; only the first %d pages were read", i), nil
		}
		earn(ctx, scanWork)
		page := requests.Page{ByIndex: &requests.PageByIndex{Document: document, Index: i}}
		shown, err := reader.RenderPageInPixels(&requests.RenderPageInPixels{Page: page, Width: scanWidth,
			Height: scanHeight})
		if err != nil {
			if ctx.Err() != nil {
				return nil, "", ctx.Err()
			}
			return nil, "", unreadable("a page of the PDF is damaged, or takes more than 48 MiB of memory to draw")
		}
		picture := &bytes.Buffer{}
		err = quickly.Encode(picture, gray(shown.Result.Image))
		shown.Cleanup()
		if err != nil {
			return nil, "", err
		}
		pictures, size = append(pictures, picture.Bytes()), size+picture.Len()
	}
	return pictures, "", nil
}

// gray returns a picture in gray, a quarter of its size in memory. PDFium draws on white, so nothing is transparent.
func gray(picture *image.RGBA) *image.Gray {
	out := image.NewGray(picture.Bounds())
	for i := range out.Pix {
		p := picture.Pix[4*i : 4*i+3 : 4*i+3]
		out.Pix[i] = uint8((299*int(p[0]) + 587*int(p[1]) + 114*int(p[2])) / 1000)
	}
	return out
}
