package knowledge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"strings"

	"golang.org/x/net/html/charset"
)

// maxPartDepth bounds the nesting of parts in a message.
const maxPartDepth = 20

type email struct {
	ctx  context.Context
	text Text
	// files are the names of attachments.
	files []string
}

// readEML reads some headers and the text of a message, which is plain text or HTML. It names attachments and does not
// read them.
func readEML(ctx context.Context, content []byte) (Text, error) {
	message, err := mail.ReadMessage(bytes.NewReader(content))
	if err != nil {
		return Text{}, unreadable("the file has the name of a message but is not one")
	}
	e := &email{ctx: ctx, text: newText(content)}
	words := mime.WordDecoder{CharsetReader: charset.NewReaderLabel}
	read := func(name string) string {
		value := message.Header.Get(name)
		if decoded, err := words.DecodeHeader(value); err == nil {
			value = decoded
		}
		return value
	}
	e.text.addBlock(Block{Kind: Heading, Level: 1, Text: read("Subject")})
	var head []string
	for _, name := range []string{"From", "To", "Cc", "Date"} {
		if value := read(name); value != "" {
			head = append(head, name+": "+value)
		}
	}
	e.text.addBlock(Block{Kind: Plain, Text: strings.Join(head, "\n")})
	body, err := e.body(textproto.MIMEHeader(message.Header), message.Body, 0)
	if err != nil {
		return Text{}, err
	}
	if e.text.append(body); len(e.files) > 0 {
		e.text.addBlock(Block{Kind: Plain, Text: "Attachments: " + strings.Join(e.files, ", ")})
	}
	return e.text, nil
}

// body returns the text of a part of a message. Files have none.
func (e *email) body(header textproto.MIMEHeader, content io.Reader, depth int) (Text, error) {
	if depth > maxPartDepth {
		return Text{}, unreadable("the message is nested more than 20 parts deep")
	}
	if e.ctx.Err() != nil {
		return Text{}, e.ctx.Err()
	}
	media, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		media = textPlain
	}
	if strings.HasPrefix(media, "multipart/") {
		return e.parts(media, multipart.NewReader(content, parameters["boundary"]), depth)
	}
	disposition, ofDisposition, _ := mime.ParseMediaType(header.Get("Content-Disposition"))
	if disposition == "attachment" || media != textPlain && media != "text/html" {
		if name := cmp.Or(ofDisposition["filename"], parameters["name"]); name != "" {
			e.files = append(e.files, name)
		}
		return Text{}, nil
	}
	switch strings.ToLower(header.Get("Content-Transfer-Encoding")) {
	case "base64":
		content = base64.NewDecoder(base64.StdEncoding, content)
	case "quoted-printable":
		content = quotedprintable.NewReader(content)
	}
	decoded, err := io.ReadAll(content)
	if err != nil {
		return Text{}, unreadable("the message is damaged")
	}
	if media == "text/html" {
		return readHTML(e.ctx, decoded, header.Get("Content-Type"), nil)
	}
	if from, name := charset.Lookup(parameters["charset"]); from != nil && name != "utf-8" {
		if decoded, err = from.NewDecoder().Bytes(decoded); err != nil {
			return Text{}, unreadable("the message is damaged")
		}
	}
	return readPlain(e.ctx, decoded)
}

// parts returns the text of several parts. If the parts are alternatives, it takes the first that is not empty, which
// is usually plain text.
func (e *email) parts(media string, parts *multipart.Reader, depth int) (Text, error) {
	all := Text{limit: e.text.limit}
	for !all.isFull() {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Text{}, unreadable("the message is damaged")
		}
		text, err := e.body(part.Header, part, depth+1)
		if err != nil {
			return Text{}, err
		}
		if media != "multipart/alternative" || len(all.Blocks) == 0 {
			all.append(text)
		}
	}
	return all, nil
}
