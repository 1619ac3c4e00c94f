package db

import (
	"context"
	"time"

	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/model"
)

// APIKeyRows are the keys of a company, by their ids.
var APIKeyRows = Rows{typeName: "API key", none: (*model.APIKey)(nil), key: byOwnID}

// APIKeys returns every key of the company, newest first, revoked ones included.
func (t *Tenant) APIKeys(ctx context.Context) ([]*model.APIKey, error) {
	keys := []*model.APIKey{}
	err := t.find(&keys).OrderExpr("created_at DESC, id DESC").Scan(ctx)
	return keys, translate(err)
}

// APIKeysByPrefix returns the keys that begin with the prefix: one, but for chance.
func (t *Tenant) APIKeysByPrefix(ctx context.Context, prefix string) ([]*model.APIKey, error) {
	keys := []*model.APIKey{}
	err := t.find(&keys).Where("prefix = ?", prefix).Scan(ctx)
	return keys, translate(err)
}

// CreateAPIKey makes a key and returns it with its secret, which is kept nowhere. UNPROCESSABLE says that the company has
// model.MaxAPIKeys that can be used.
func (t *Tenant) CreateAPIKey(ctx context.Context, in model.CreateAPIKeyInput) (*model.APIKey, string, error) {
	key, secret, err := model.NewAPIKey(t.store.signer, t.companyID, in, now())
	if err != nil {
		return nil, "", err
	}
	return key, secret, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		// Those who make keys at the same time wait here, so that each counts the other's.
		if _, err := t.db.NewRaw("SELECT 1 FROM companies WHERE id = ? FOR NO KEY UPDATE", t.companyID).Exec(ctx); err != nil {
			return translate(err)
		}
		usable, err := t.find((*model.APIKey)(nil)).Where("revoked_at IS NULL").Where("(expires_at IS NULL OR expires_at > ?)", key.CreatedAt).Count(ctx)
		if err != nil {
			return translate(err)
		}
		if usable >= model.MaxAPIKeys {
			return model.Errorf(model.Unprocessable, "the company has %d API keys that can be used, which is the most: revoke one first", usable)
		}
		if err := insert(ctx, t.Tenant, key); err != nil {
			return err
		}
		return t.audit(ctx, model.AuditActionCreateAPIKey, key.ID)
	})
}

// RevokeAPIKey revokes a key for good. Revoking it again changes nothing.
func (t *Tenant) RevokeAPIKey(ctx context.Context, id string) (*model.APIKey, error) {
	key := &model.APIKey{}
	return key, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		revoked, err := affects(t.change((*model.APIKey)(nil)).Set("revoked_at = ?", now()).
			Where("id = ?", id).Where("revoked_at IS NULL").Exec(ctx))
		if err != nil {
			return err
		}
		if revoked {
			t.onCommit(t.store.revocations.announce)
			if err := t.audit(ctx, model.AuditActionRevokeAPIKey, id); err != nil {
				return err
			}
		}
		return t.one(ctx, "API key", id, key)
	})
}

// RevokedKeys returns which of the keys were revoked or have expired. They may belong to any company.
func (s *Store) RevokedKeys(ctx context.Context, keys []model.KeyRef) ([]model.KeyRef, error) {
	companies, ids := make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		companies[i], ids[i] = key.CompanyID, key.KeyID
	}
	revoked := []model.KeyRef{}
	err := s.program().NewSelect().Model((*model.APIKey)(nil)).ColumnExpr("company_id, id AS key_id").
		Where("(company_id, id) IN (SELECT * FROM unnest(?::text[], ?::text[]))", pgdialect.Array(companies), pgdialect.Array(ids)).
		Where("(revoked_at IS NOT NULL OR expires_at <= ?)", now()).Scan(ctx, &revoked)
	return revoked, translate(err)
}

// TouchAPIKey records that a key was used.
func (t *Tenant) TouchAPIKey(ctx context.Context, id string, at time.Time) error {
	_, err := t.change((*model.APIKey)(nil)).Set("last_used_at = ?", at).Where("id = ?", id).Exec(ctx)
	return translate(err)
}
