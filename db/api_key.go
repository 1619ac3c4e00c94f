package db

import (
	"context"
	"time"

	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// APIKeyRows are the keys of a company, by their ids.
var APIKeyRows = pg.Rows{Type: "API key", Model: (*model.APIKey)(nil), Key: pg.ByID}

// APIKeys returns every key of the company, newest first, including revoked ones.
func (t *Tenant) APIKeys(ctx context.Context) ([]*model.APIKey, error) {
	keys := []*model.APIKey{}
	err := t.db.Select(&keys).OrderExpr("created_at DESC, id DESC").Scan(ctx)
	return keys, err
}

// APIKey returns one key, even if it is revoked or expired.
func (t *Tenant) APIKey(ctx context.Context, id string) (*model.APIKey, error) {
	key := &model.APIKey{}
	return key, t.db.One(ctx, "API key", id, key)
}

// APIKeysByPrefix returns the keys that begin with the prefix. There is rarely more than one.
func (t *Tenant) APIKeysByPrefix(ctx context.Context, prefix string) ([]*model.APIKey, error) {
	keys := []*model.APIKey{}
	err := t.db.Select(&keys).Where("prefix = ?", prefix).Scan(ctx)
	return keys, err
}

// CreateAPIKey makes a key and returns it with its secret, which is not stored. It returns UNPROCESSABLE when the
// company has model.MaxAPIKeys valid keys.
func (t *Tenant) CreateAPIKey(ctx context.Context, in model.CreateAPIKeyInput) (*model.APIKey, string, error) {
	key, secret, err := model.NewAPIKey(t.store.signer, t.CompanyID(), in, now())
	if err != nil {
		return nil, "", err
	}
	return key, secret, t.addAPIKey(ctx, key, nil)
}

// ImportAPIKey makes a key for an existing secret, and stores only its hash. It returns CONFLICT when another key has
// the secret, and UNPROCESSABLE when the company has model.MaxAPIKeys valid keys.
func (t *Tenant) ImportAPIKey(ctx context.Context, in model.ImportAPIKeyInput) (*model.APIKey, error) {
	key, isForeign, err := model.ImportAPIKey(t.CompanyID(), in, now())
	if err != nil {
		return nil, err
	}
	return key, t.addAPIKey(ctx, key, func(ctx context.Context, t tenantTx) error {
		known, err := t.db.Select((*model.APIKey)(nil)).Where("hash = ?", key.Hash).Exists(ctx)
		if err == nil && !known && isForeign {
			known, err = pg.Affects(t.db.NewRaw("INSERT INTO imported_key_hashes (hash, company_id, api_key_id) VALUES (?, ?, "+
				"?) ON CONFLICT (hash) DO NOTHING",
				key.Hash, t.CompanyID(), key.ID).Exec(ctx))
			known = !known
		}
		if err == nil && known {
			return model.Errorf(model.Conflict, "another key already has this secret; that key may be revoked or "+
				"belong to another company. Use another secret")
		}
		return err
	})
}

// ImportedKey returns the key of an imported secret and the Tenant of its company, or NOT_FOUND. It finds the company
// by the hash, because imported secrets do not name their company.
func (s *Store) ImportedKey(ctx context.Context, secret string) (*Tenant, *model.APIKey, error) {
	found := []struct{ CompanyID, APIKeyID string }{}
	err := s.db.Program().NewSelect().TableExpr("imported_key_hashes").Column("company_id", "api_key_id").
		Where("hash = ?", model.HashOfSecret(secret)).Scan(ctx, &found)
	if err != nil {
		return nil, nil, err
	}
	if len(found) == 0 {
		return nil, nil, model.Errorf(model.NotFound, "the API key does not exist")
	}
	tenant := s.Tenant(found[0].CompanyID)
	key, err := tenant.APIKey(ctx, found[0].APIKeyID)
	return tenant, key, err
}

// HasImportedKeys reports whether any company has an imported key.
func (s *Store) HasImportedKeys(ctx context.Context) (bool, error) {
	return s.db.Program().NewSelect().TableExpr("imported_key_hashes").Exists(ctx)
}

// addAPIKey adds a key. It first calls prepare in the same transaction, unless prepare is nil.
func (t *Tenant) addAPIKey(ctx context.Context, key *model.APIKey,
	prepare func(context.Context, tenantTx) error) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		// Concurrent creations of keys wait for each other here, so that each counts the keys of the others.
		if _, err := t.db.NewRaw("SELECT 1 FROM companies WHERE id = ? FOR NO KEY UPDATE", t.CompanyID()).
			Exec(ctx); err != nil {
			return err
		}
		usable, err := t.db.Select((*model.APIKey)(nil)).Where("revoked_at IS NULL").
			Where("(expires_at IS NULL OR expires_at > ?)", key.CreatedAt).Count(ctx)
		if err != nil {
			return err
		}
		if usable >= model.MaxAPIKeys {
			return model.Errorf(model.Unprocessable, "the company has %d valid API keys, the maximum: revoke "+
				"one first", usable)
		}
		if prepare != nil {
			if err := prepare(ctx, t); err != nil {
				return err
			}
		}
		if err := pg.Insert(ctx, t.db, key); err != nil {
			return err
		}
		return t.audit(ctx, model.AuditActionCreateAPIKey, key.ID)
	})
}

// RevokeAPIKey revokes a key permanently. Revoking it again changes nothing.
func (t *Tenant) RevokeAPIKey(ctx context.Context, id string) (*model.APIKey, error) {
	key := &model.APIKey{}
	return key, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		revoked, err := pg.Affects(t.db.Update((*model.APIKey)(nil)).Set("revoked_at = ?", now()).
			Where("id = ?", id).Where("revoked_at IS NULL").Exec(ctx))
		if err != nil {
			return err
		}
		if revoked {
			t.db.OnCommit(t.store.revocations.announce)
			if err := t.audit(ctx, model.AuditActionRevokeAPIKey, id); err != nil {
				return err
			}
		}
		return t.db.One(ctx, "API key", id, key)
	})
}

// Revoked returns which of the credentials are no longer valid: keys that were revoked, deleted or have expired, their
// access tokens, and tokens that were revoked. They may belong to any company.
func (s *Store) Revoked(ctx context.Context, credentials []model.CredentialRef) ([]model.CredentialRef, error) {
	companies, ids, tokens := make([]string, len(credentials)), make([]string, len(credentials)),
		make([]string, len(credentials))
	for i, c := range credentials {
		companies[i], ids[i], tokens[i] = c.CompanyID, c.KeyID, c.Token
	}
	valid := []struct{ CompanyID, KeyID, Token string }{}
	err := s.db.Program().NewSelect().
		TableExpr("unnest(?::text[], ?::text[], ?::text[]) AS shown (company_id, key_id, token)", pgdialect.Array(companies),
			pgdialect.Array(ids), pgdialect.Array(tokens)).
		ColumnExpr("shown.*").
		Join("JOIN api_keys AS api_key ON api_key.company_id = shown.company_id AND api_key.id = shown.key_id").
		// The join uses the company_id of api_key, because Citus rejects an outer join on the company_id of shown.
		Join("LEFT JOIN access_tokens AS access_token ON access_token.company_id = api_key.company_id AND access_token.hash "+
			"= decode(shown.token, 'hex')").
		Where("api_key.revoked_at IS NULL AND (api_key.expires_at IS NULL OR api_key.expires_at > ?)", now()).
		Where("shown.token = '' OR access_token.hash IS NOT NULL").Scan(ctx, &valid)
	if err != nil {
		return nil, err
	}
	isValid := make(map[model.CredentialRef]bool, len(valid))
	for _, v := range valid {
		isValid[model.CredentialRef{KeyRef: model.KeyRef{CompanyID: v.CompanyID, KeyID: v.KeyID}, Token: v.Token}] = true
	}
	revoked := []model.CredentialRef{}
	for _, c := range credentials {
		if !isValid[c] {
			revoked = append(revoked, c)
		}
	}
	return revoked, nil
}

// TouchAPIKey records that a key was used.
func (t *Tenant) TouchAPIKey(ctx context.Context, id string, at time.Time) error {
	return exec(ctx, t.db.Update((*model.APIKey)(nil)).Set("last_used_at = ?", at).Where("id = ?", id))
}
