package knowledge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

const (
	german = "Bücher werden für vier Wochen ausgeliehen und Zeitschriften für eine Woche. Vorbestellte Bücher liegen " +
		"sieben Werktage lang im Abholregal neben dem Eingang. "
	russian = "Запись к врачу открывается за две недели до приёма. Отменить визит можно по телефону не позднее чем за " +
		"сутки до осмотра. "
	polish = "Książki wypożyczamy na cztery tygodnie, a czasopisma na jeden tydzień. Zamówione książki czekają na " +
		"półce przy wejściu przez siedem dni roboczych. "
)

func TestDocumentLanguagesAreDetected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		chunks []string
		want   []string
	}{
		{[]string{german}, []string{"de"}},
		{strings.SplitAfter(german, ". "), []string{"de"}},
		{[]string{strings.Repeat(german, 7), strings.Repeat(russian, 3)}, []string{"de", "ru"}},
		{[]string{strings.Repeat(german, 70), russian}, []string{"de"}},
		{[]string{polish}, nil},
		{[]string{"Rot"}, nil},
		{[]string{strings.Repeat("日本語の文章です。", 40)}, nil},
		{nil, nil},
	} {
		chunks := []*model.Chunk{}
		for _, text := range c.chunks {
			chunks = append(chunks, &model.Chunk{Content: text})
		}
		require.Equal(t, c.want, knowledge.LanguagesOf(chunks), "%.80q", c.chunks)
	}
}

func TestRetrieveFindsOtherEndings(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{german + "\nDas Haus", russian + "\nКрасный дом"})
	for question, want := range map[string]string{
		"der Abholregale": strings.TrimSpace(german), "häusern": "Das Haus", "HAUSES": "Das Haus",
		"красного": "Красный дом", "врачами": strings.TrimSpace(russian), "приема": strings.TrimSpace(russian),
	} {
		found := l.ask(question)
		require.NotEmpty(t, found, question)
		require.Equal(t, want, texts(found)[0], question)
	}
}

func TestShortDocumentsHaveTheLanguageOfTheOthers(t *testing.T) {
	t.Parallel()
	short := "Die Lieferung hat ihre Zeit."
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{german, short})
	require.Equal(t, short, texts(l.ask("Lieferungszeit"))[0], "a compound of its words")
	require.Equal(t, short, texts(l.ask("Lieferungen"))[0])
	require.Equal(t, []string{"de"}, l.add(l.datasetID(), "short.csv", "Rot").Languages)
}

// datasetID returns the id of the only dataset.
func (l library) datasetID() string {
	l.t.Helper()
	datasets, err := dbtest.Find[*model.Dataset](l.t.Context(), l.tenant, db.DatasetsOfChats, []string{l.chat.ID})
	require.NoError(l.t, err)
	return datasets[0].ID
}
