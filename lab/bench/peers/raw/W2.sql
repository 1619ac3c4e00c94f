SELECT json_build_object('data', json_build_object('agents', json_build_object('nodes', json_agg(json_build_object(
    'id', a.id, 'name', a.name, 'channel', a.channel, 'direction', a.direction, 'language', a.language, 'tags', a.tags,
    'createdAt', a.created_at,
    'tools', (
        SELECT json_agg(json_build_object('id', t.id, 'name', t.name, 'technicalName', t.technical_name) ORDER BY e.position)
        FROM agent_tools AS e JOIN tools AS t ON t.company_id = e.company_id AND t.id = e.tool_id
        WHERE e.company_id = a.company_id AND e.agent_id = a.id),
    'subAgents', (
        SELECT json_agg(json_build_object('id', s.id, 'name', s.name, 'agent', json_build_object('id', d.id, 'name', d.name)) ORDER BY s.position)
        FROM sub_agents AS s JOIN agents AS d ON d.company_id = s.company_id AND d.id = s.delegate_agent_id AND d.deleted_at IS NULL
        WHERE s.company_id = a.company_id AND s.agent_id = a.id),
    'tests', json_build_object('nodes', (
        SELECT json_agg(json_build_object('id', t.id, 'name', t.name, 'kind', t.kind))
        FROM (
            SELECT * FROM agent_tests AS t WHERE t.company_id = a.company_id AND t.agent_id = a.id AND t.deleted_at IS NULL
            ORDER BY t.created_at DESC, t.id DESC LIMIT 5) AS t)),
    'knowledgeBaseChat', (
        SELECT json_build_object('id', c.id, 'name', c.name, 'datasets', (
            SELECT json_agg(json_build_object('id', d.id, 'name', d.name) ORDER BY e.position)
            FROM knowledge_base_chat_datasets AS e JOIN datasets AS d ON d.company_id = e.company_id AND d.id = e.dataset_id
            WHERE e.company_id = c.company_id AND e.chat_id = c.id))
        FROM knowledge_base_chats AS c WHERE c.company_id = a.company_id AND c.id = a.knowledge_base_chat_id)) ORDER BY a.created_at DESC, a.id DESC))))
FROM (SELECT * FROM agents WHERE company_id = $1 AND deleted_at IS NULL ORDER BY created_at DESC, id DESC LIMIT 50) AS a
