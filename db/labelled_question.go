package db

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// AddLabelledQuestions adds questions to a dataset, and replaces those with the same words. It returns NOT_FOUND when
// the dataset does not exist, and BAD_INPUT when a document is not in the dataset. It returns UNPROCESSABLE when the
// dataset would have more than model.MaxLabelledQuestions questions.
func (t *Tenant) AddLabelledQuestions(ctx context.Context,
	in model.AddLabelledQuestionsInput) ([]*model.LabelledQuestion, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	var added []*model.LabelledQuestion
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		// The lock serializes additions, and blocks new documents of the dataset. It does not block their deletion.
		if err := t.lock(ctx, dataset, in.DatasetID, &model.Dataset{}, forUpdate); err != nil {
			return err
		}
		var err error
		if added, err = t.labelled(ctx, in); err != nil {
			return err
		}
		asked := model.Map(added, func(q *model.LabelledQuestion) string { return q.Question })
		replaced := t.db.Delete((*model.LabelledQuestion)(nil)).Where("dataset_id = ?", in.DatasetID).
			Where("question IN (?)", bun.List(asked))
		if _, err := replaced.Exec(ctx); err != nil {
			return err
		}
		if err := pg.Insert(ctx, t.db, added...); err != nil {
			return err
		}
		count, err := t.db.Select((*model.LabelledQuestion)(nil)).Where("dataset_id = ?", in.DatasetID).Count(ctx)
		if err == nil && count > model.MaxLabelledQuestions {
			return model.Errorf(model.Unprocessable, "a dataset can have at most %d labeled questions; this one would have %d",
				model.MaxLabelledQuestions, count)
		}
		return err
	})
	return added, err
}

// labelled returns the questions of the input with their documents. Of several with the same words, the last one
// counts.
func (t tenantTx) labelled(ctx context.Context, in model.AddLabelledQuestionsInput) ([]*model.LabelledQuestion, error) {
	ids, names := []string{""}, []string{""}
	for _, q := range in.Questions {
		if q.DocumentID != nil {
			ids = append(ids, *q.DocumentID)
		} else {
			names = append(names, *q.DocumentName)
		}
	}
	documents := []*model.Document{}
	// Several documents may have the same name: the first counts.
	first := t.db.Select((*model.Document)(nil)).ColumnExpr("DISTINCT ON (name) id").Where("dataset_id = ?", in.DatasetID).
		Where("name IN (?)", bun.List(names)).OrderExpr("name, created_at, id")
	err := t.db.Select(&documents).Column("id", "name").Where("dataset_id = ?", in.DatasetID).
		Where("(id IN (?) OR id IN (?))", bun.List(ids), first).Order("created_at", "id").Scan(ctx)
	if err != nil {
		return nil, err
	}
	var faults model.Fields
	at, added := now(), []*model.LabelledQuestion{}
	for i, q := range in.Questions {
		found := slices.IndexFunc(documents, func(d *model.Document) bool {
			return q.DocumentID != nil && d.ID == *q.DocumentID || q.DocumentName != nil && d.Name == *q.DocumentName
		})
		if found < 0 {
			faults.Add(fmt.Sprintf("questions.%d.documentId", i), "must be the id of a document of the dataset, or "+
				"documentName must be the name of one")
			continue
		}
		added = slices.DeleteFunc(added, func(other *model.LabelledQuestion) bool { return other.Question == q.Question })
		added = append(added, &model.LabelledQuestion{
			ID: model.NewID("question"), DatasetID: in.DatasetID, DocumentID: documents[found].ID,
			DocumentName: documents[found].Name,
			Question:     q.Question, Passage: q.Passage, CreatedAt: at,
		})
	}
	return added, faults.Err()
}

// maxDrawn bounds the chunks of a dataset that passages are drawn from, because drawing reads each of them.
const maxDrawn = 10_000

// DrawPassages returns up to count random chunks of a dataset as drafts without questions. The dataset may be empty.
func (t *Tenant) DrawPassages(ctx context.Context, datasetID string, count int32) ([]*model.DraftedQuestion, error) {
	if _, err := t.Dataset(ctx, datasetID); err != nil {
		return nil, err
	}
	firsts := t.db.Select((*model.Chunk)(nil)).Column("id").Where("dataset_id = ?", datasetID).Limit(maxDrawn)
	drawn := t.db.NewSelect().TableExpr("(?) AS firsts", firsts).Column("id").OrderExpr("random()").Limit(int64(count))
	drafts := []*model.DraftedQuestion{}
	err := t.db.Select((*model.Chunk)(nil)).Column("document_id").ColumnExpr("left(?TableAlias.content, ?) AS passage",
		model.MaxPassage).
		ColumnExpr("document.name AS document_name").
		Join("JOIN documents AS document ON document.company_id = ?TableAlias.company_id AND document.id = "+
			"?TableAlias.document_id").
		Where("?TableAlias.id IN (?)", drawn).Scan(ctx, &drafts)
	return drafts, err
}

// DeleteLabelledQuestions deletes questions of a dataset and returns the ids of those that existed.
func (t *Tenant) DeleteLabelledQuestions(ctx context.Context, in model.DeleteLabelledQuestionsInput) ([]string, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	if _, err := t.Dataset(ctx, in.DatasetID); err != nil {
		return nil, err
	}
	deleted := []string{}
	if len(in.Ids) == 0 {
		return deleted, nil
	}
	_, err := t.db.Delete((*model.LabelledQuestion)(nil)).Where("dataset_id = ?", in.DatasetID).
		Where("id IN (?)", bun.List(in.Ids)).
		Returning("id").Exec(ctx, &deleted)
	return deleted, err
}

// LabelledQuestionsOfDatasets returns the questions of each of the datasets, by its id.
func (t *Tenant) LabelledQuestionsOfDatasets(ctx context.Context,
	ids []string) (map[string][]*model.LabelledQuestion, error) {
	rows := []*model.LabelledQuestion{}
	err := t.db.Select(&rows).Apply(t.withDocumentName).Where("?TableAlias.dataset_id IN (?)", bun.List(ids)).Order("id").
		Scan(ctx)
	found := make(map[string][]*model.LabelledQuestion, len(ids))
	for _, row := range rows {
		found[row.DatasetID] = append(found[row.DatasetID], row)
	}
	return found, err
}

// LabelledQuestionsOfChat returns questions of the datasets of a chat, or of one of them, after a given question, and
// their total number. It may return one more than first.
func (t *Tenant) LabelledQuestionsOfChat(ctx context.Context, chatID string, datasetID, after *string,
	first int32) ([]*model.LabelledQuestion, int64, error) {
	rows := []*model.LabelledQuestion{}
	inScope := func(q *bun.SelectQuery) *bun.SelectQuery {
		q = q.Where(`?TableAlias.dataset_id IN (SELECT dataset_id FROM knowledge_base_chat_datasets AS searched
			WHERE searched.company_id = ? AND searched.chat_id = ?)`, t.CompanyID(), chatID)
		if datasetID != nil {
			q = q.Where("?TableAlias.dataset_id = ?", *datasetID)
		}
		return q
	}
	count, err := t.db.Select((*model.LabelledQuestion)(nil)).Apply(inScope).Count(ctx)
	if err != nil {
		return nil, 0, err
	}
	q := t.db.Select(&rows).Apply(t.withDocumentName, inScope).Order("id").Limit(int64(first) + 1)
	if after != nil {
		q = q.Where("?TableAlias.id > ?", *after)
	}
	return rows, count, q.Scan(ctx)
}

func (t *Tenant) withDocumentName(q *bun.SelectQuery) *bun.SelectQuery {
	return q.ColumnExpr("?TableColumns").ColumnExpr(`(SELECT name FROM documents AS document
		WHERE document.company_id = ? AND document.id = ?TableAlias.document_id) AS document_name`, t.CompanyID())
}
