-- 20 companies with 200 agents each. Nothing is random: everything follows from its number.

CREATE FUNCTION pg_temp.named(kind text, number bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT kind || '_01' || lpad(to_hex(number), 10, '0') || substr(md5(kind || number), 1, 14)
$$;

-- Sentences take turns, so that texts compress, and need escapes, as prose does.
CREATE FUNCTION pg_temp.prose(number bigint, length int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT left(string_agg((ARRAY[
        'You answer the telephone of a clinic, and you are patient with those who are not.',
        'Ask for the name first, then for the date of birth, and repeat both.',
        'When somebody is in danger, say "please hang up and dial 112" at once.',
        E'Never promise what the calendar does not show.\n',
        'Prices are those of the list: 45 € for a visit, 80 € for two of them.',
        'Réservations faites le matin sont confirmées avant midi.',
        'If you do not understand, say so & ask again <once> before you transfer.',
        E'What was agreed is summed up in one sentence:\t"we expect you on Monday".'
    ])[1 + abs(hashint8(number * 8191 + part)) % 8], ' ' ORDER BY part), length)
    FROM generate_series(1, length / 40 + 1) AS part
$$;

CREATE FUNCTION pg_temp.at(number bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
    SELECT timestamptz '2026-01-01 00:00:00Z' + number * interval '17.123 seconds'
$$;

CREATE TEMPORARY TABLE companies_of_bench AS
SELECT company AS number, pg_temp.named('company', company) AS id FROM generate_series(1, 20) AS company;

CREATE TEMPORARY TABLE agents_of_bench AS
SELECT c.id AS company_id, c.number * 1000 + agent AS number, agent,
    pg_temp.named('agent', c.number * 1000 + agent) AS id,
    pg_temp.named('kbchat', c.number * 1000 + agent) AS chat_id
FROM companies_of_bench AS c CROSS JOIN generate_series(1, 200) AS agent;

INSERT INTO companies (id, name, created_at)
SELECT id, 'Company ' || number, pg_temp.at(number) FROM companies_of_bench;

INSERT INTO knowledge_base_chats (company_id, id, name, llm_settings, prompt_settings, created_at)
SELECT company_id, chat_id, 'Knowledge ' || number,
    '{"temperature": 0.1, "topP": 0.3, "presencePenalty": 0.4, "frequencyPenalty": 0.7}',
    '{"similarityThreshold": 0.2, "keywordsSimilarityWeight": 0.7, "topN": 6, "prompt": "Answer from {knowledge}",
      "opener": "", "emptyResponse": "", "rerankModel": "", "showQuote": true}', pg_temp.at(number)
FROM agents_of_bench;

INSERT INTO datasets (company_id, id, name, description, chunk_method, parser_config, created_at)
SELECT company_id, pg_temp.named('dataset', number * 10 + i), 'Dataset ' || number || '.' || i, pg_temp.prose(number, 120),
    (ARRAY['naive', 'qa', 'manual'])[i],
    '{"chunkTokenNum": 512, "layoutRecognize": true, "delimiter": "\n", "taskPageSize": 12}', pg_temp.at(number)
FROM agents_of_bench CROSS JOIN generate_series(1, 3) AS i;

INSERT INTO knowledge_base_chat_datasets (company_id, chat_id, dataset_id, position)
SELECT company_id, chat_id, pg_temp.named('dataset', number * 10 + i), i
FROM agents_of_bench CROSS JOIN generate_series(1, 3) AS i;

INSERT INTO agents (company_id, id, name, channel, direction, language, tags, prompt, prompt_version,
    outbound_welcome_message, inbound_welcome_message, fields, classification_tags, extracted_values,
    is_call_transfer_enabled, knowledge_base_chat_id, created_at, updated_at)
SELECT company_id, id, 'Agent ' || number, (ARRAY['Phone', 'SMS', 'Web', 'WhatsApp'])[1 + number % 4],
    (ARRAY['Inbound', 'Outbound'])[1 + number % 2], (ARRAY['en', 'fr-CA', 'de'])[1 + number % 3],
    jsonb_build_array('clinic', 'tier ' || number % 5, 'region ' || number % 11), pg_temp.prose(number, 2048), 1 + number % 9,
    CASE WHEN number % 2 = 1 THEN pg_temp.prose(number, 90) END, CASE WHEN number % 2 = 0 THEN pg_temp.prose(number, 90) END,
    (SELECT jsonb_agg(jsonb_build_object('name', 'field_' || i, 'isMandatory', i % 2 = 0, 'isSystem', i > 6) ORDER BY i)
        FROM generate_series(1, 8) AS i),
    (SELECT jsonb_agg(jsonb_build_object('name', 'Tag ' || i, 'definition', pg_temp.prose(number + i, 80), 'isSystem', i = 1) ORDER BY i)
        FROM generate_series(1, 6) AS i),
    (SELECT jsonb_agg(jsonb_build_object('name', 'value_' || i, 'definition', pg_temp.prose(number + i, 60),
        'type', (ARRAY['Text', 'Nom'])[1 + i % 2]) ORDER BY i) FROM generate_series(1, 3) AS i),
    number % 3 = 0, chat_id, pg_temp.at(number), pg_temp.at(number + 5)
FROM agents_of_bench;

INSERT INTO tools (company_id, id, name, technical_name, description, parameters, created_at, updated_at)
SELECT company_id, pg_temp.named('tool', number * 10 + i), 'Tool ' || number || '.' || i, 'tool_' || number || '_' || i,
    pg_temp.prose(number + i, 140), json_build_object('type', 'object', 'properties', json_build_object(
        'date', json_build_object('type', 'string', 'description', 'The day, as YYYY-MM-DD'),
        'people', json_build_object('type', 'integer', 'minimum', 1),
        'remark', json_build_object('type', 'string')), 'required', json_build_array('date')), pg_temp.at(number), pg_temp.at(number)
FROM agents_of_bench CROSS JOIN generate_series(1, 5) AS i;

INSERT INTO agent_tools (company_id, agent_id, tool_id, position)
SELECT company_id, id, pg_temp.named('tool', number * 10 + i), i FROM agents_of_bench CROSS JOIN generate_series(1, 5) AS i;

-- An agent's delegates are agents of its company at fixed distances, wrapping around.
INSERT INTO sub_agents (company_id, id, agent_id, delegate_agent_id, name, technical_name, description, position, created_at)
SELECT company_id, pg_temp.named('subagent', number * 10 + i), id,
    pg_temp.named('agent', number - agent + 1 + (agent - 1 + i * 7) % 200),
    'Sub-agent ' || i, 'delegate_' || i, pg_temp.prose(number + i, 100), i, pg_temp.at(number)
FROM agents_of_bench CROSS JOIN generate_series(1, 3) AS i;

INSERT INTO agent_tests (company_id, id, agent_id, kind, name, created_at, updated_at,
    scenario, criteria, max_turns, conversation_messages, variables, tool_mocking, conversation_context, tag_expected)
SELECT company_id, pg_temp.named('test', number * 100 + i), id, kind, 'Test ' || number || '.' || i,
    pg_temp.at(number * 20 + i), pg_temp.at(number * 20 + i),
    CASE kind WHEN 'Simulation' THEN pg_temp.prose(number + i, 400) END,
    CASE kind WHEN 'Simulation' THEN jsonb_build_array(pg_temp.prose(number, 80), pg_temp.prose(i, 80)) END,
    CASE kind WHEN 'Simulation' THEN 10 END, CASE kind WHEN 'Simulation' THEN json '[]' END,
    CASE kind WHEN 'Simulation' THEN json '{}' END, CASE kind WHEN 'Simulation' THEN jsonb '{}' END,
    CASE kind WHEN 'Classification' THEN json '{"messages": [{"role": "user", "text": "Good morning"}], "dataBag": {}}' END,
    CASE kind WHEN 'Classification' THEN 'Tag 1' END
FROM agents_of_bench CROSS JOIN generate_series(1, 10) AS i
    CROSS JOIN LATERAL (SELECT (ARRAY['Simulation', 'Classification'])[1 + i % 2]) AS which (kind);
