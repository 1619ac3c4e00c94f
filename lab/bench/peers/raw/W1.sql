SELECT json_build_object('data', json_build_object('agent', json_build_object(
    'id', a.id, 'name', a.name, 'channel', a.channel, 'direction', a.direction, 'language', a.language, 'tags', a.tags,
    'createdAt', a.created_at, 'updatedAt', a.updated_at, 'prompt', a.prompt, 'promptVersion', a.prompt_version,
    'outboundWelcomeMessage', a.outbound_welcome_message, 'inboundWelcomeMessage', a.inbound_welcome_message,
    'isCallTransferEnabled', a.is_call_transfer_enabled,
    'fields', a.fields, 'classificationTags', a.classification_tags, 'extractedValues', a.extracted_values,
    'tools', (
        SELECT json_agg(json_build_object('id', t.id, 'name', t.name, 'technicalName', t.technical_name,
            'description', t.description, 'parameters', t.parameters) ORDER BY e.position)
        FROM agent_tools AS e JOIN tools AS t ON t.company_id = e.company_id AND t.id = e.tool_id
        WHERE e.company_id = a.company_id AND e.agent_id = a.id),
    'subAgents', (
        SELECT json_agg(json_build_object('id', s.id, 'name', s.name, 'technicalName', s.technical_name,
            'description', s.description, 'agent', json_build_object('id', d.id, 'name', d.name, 'channel', d.channel)) ORDER BY s.position)
        FROM sub_agents AS s JOIN agents AS d ON d.company_id = s.company_id AND d.id = s.delegate_agent_id AND d.deleted_at IS NULL
        WHERE s.company_id = a.company_id AND s.agent_id = a.id),
    'knowledgeBaseChat', (
        SELECT json_build_object('id', c.id, 'name', c.name, 'datasets', (
                SELECT json_agg(json_build_object('id', d.id, 'name', d.name, 'chunkMethod', d.chunk_method) ORDER BY e.position)
                FROM knowledge_base_chat_datasets AS e JOIN datasets AS d ON d.company_id = e.company_id AND d.id = e.dataset_id
                WHERE e.company_id = c.company_id AND e.chat_id = c.id),
            'llmSettings', json_build_object('temperature', c.llm_settings -> 'temperature', 'topP', c.llm_settings -> 'topP'))
        FROM knowledge_base_chats AS c WHERE c.company_id = a.company_id AND c.id = a.knowledge_base_chat_id),
    'tests', json_build_object('nodes', (
        SELECT json_agg(json_build_object('id', t.id, 'name', t.name, 'kind', t.kind, 'lastRunStatus', t.last_run_status,
            'createdAt', t.created_at))
        FROM (
            SELECT * FROM agent_tests AS t WHERE t.company_id = a.company_id AND t.agent_id = a.id AND t.deleted_at IS NULL
            ORDER BY t.created_at DESC, t.id DESC LIMIT 10) AS t)))))
FROM agents AS a WHERE a.company_id = $1 AND a.id = $2 AND a.deleted_at IS NULL
