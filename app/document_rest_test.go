package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRESTManagesDocuments(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "REST")
	dataset, other := newDatasetOf(t, tenant), newDatasetOf(t, tenant)
	path := "/Dataset/" + dataset.ID + "/document"
	status, header, text := g.sendForm(t, path, key, nil,
		part{name: "NAME", content: "Prices"}, part{"file", "prices.csv", "text/csv", "room,price\nsingle,80\n"})
	require.Equal(t, 200, status, text)
	var added map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &added))
	require.Equal(t, "Prices", added["name"])
	require.Equal(t, dataset.ID, added["datasetId"])
	require.Equal(t, "text/csv", added["contentType"])
	require.Equal(t, path+"/"+added["id"].(string), header.Get("Location"))

	send := func(method, path, body string) (int, string) {
		response := g.do(t, method, path, key, body)
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(text)
	}
	status, text = send("POST", path, `{"name":"Hours","text":"Open at nine."}`)
	require.Equal(t, 200, status, text)
	status, text = send("POST", path, `{"name":"Hours"}`)
	require.Equal(t, 400, status, text)
	require.Contains(t, text, `"text":["must be given`)
	status, _, text = g.sendForm(t, path, key, nil, part{name: "text", content: "x"},
		part{"file", "a.txt", "text/plain", "x"})
	require.Equal(t, 400, status, text)
	file := part{"file", "a.txt", "text/plain", "x"}
	for want, parts := range map[string][]part{
		`"file":["must be given once"]`:                        {file, file},
		`"name":["must be given once"]`:                        {{name: "name", content: "a"}, {name: "Name", content: "b"}, file},
		`"folder":["is not a known part; the parts are name, `: {{name: "folder", content: "a"}, file},
		`"file":["must be a file`:                              {{name: "file", content: "a"}},
		`"text":["must be given unless`:                        {{name: "file"}},
	} {
		status, _, text = g.sendForm(t, path, key, nil, parts...)
		require.Equal(t, 400, status, text)
		require.Contains(t, text, want)
	}
	status, _, text = g.sendForm(t, path, key, nil, part{"file", "a.txt", "text/plain", strings.Repeat("a", 25<<20+1)})
	require.Equal(t, 413, status, text)
	require.Contains(t, text, "LIMIT_EXCEEDED")
	status, _, text = g.sendForm(t, "/Dataset/dataset_none/document", key, nil, part{"file", "a.txt", "text/plain", "x"})
	require.Equal(t, 404, status, text)
	status, _, text = g.sendForm(t, "/Dataset", key, nil, part{name: "name", content: "x"})
	require.Equal(t, 415, status, text)

	g.startWorkers(t)
	require.Len(t, g.settled(t, key, dataset.ID), 2)
	status, text = send("GET", path+"?pageSize=1", "")
	require.Equal(t, 200, status, text)
	require.Contains(t, text, `"name":"Hours"`)
	require.Contains(t, text, `"total":2,"pageNumber":1,"pageSize":1}`)
	one := "/document/" + added["id"].(string)
	for _, missing := range []string{"GET /Dataset/" + other.ID + one, "DELETE /Dataset/" + other.ID + one,
		"GET /Dataset/none/document", "DELETE /Dataset/none", "PATCH /Dataset/none"} {
		method, path, _ := strings.Cut(missing, " ")
		body := ""
		if method == http.MethodPatch {
			body = `{"name":"x"}`
		}
		status, text = send(method, path, body)
		require.Equal(t, 404, status, "%s: %s", missing, text)
	}
	status, text = send("GET", "/Dataset/"+dataset.ID+one, "")
	require.Equal(t, 200, status, text)
	require.Contains(t, text, `"status":"Ready"`)
	status, text = send("PATCH", "/Dataset/"+dataset.ID, `{"name":"Renamed","chunkMethod":"table"}`)
	require.Equal(t, 200, status, text)
	require.Contains(t, text, `"chunkMethod":"table"`)
	documents := g.settled(t, key, dataset.ID)
	require.Contains(t, *documents["Hours"].Warning, "naive")
	require.Nil(t, documents["Prices"].Warning)
	for _, path := range []string{path + "/" + added["id"].(string), "/Dataset/" + dataset.ID} {
		status, text = send("DELETE", path, "")
		require.Equal(t, 204, status, text)
		status, _ = send("GET", path, "")
		require.Equal(t, 404, status)
	}
}
