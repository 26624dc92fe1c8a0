// The first line of the TypeScript SDK as a client that holds a server to its output schemas, and a result that is too large.
// `large_v1.mjs COMMAND FILE`: the command is haft in front of server-filesystem, which it knows as `s`.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [command, path] = process.argv.slice(2);
const client = new Client({ name: 'large', version: '1' });
await client.connect(new StdioClientTransport({ command, args: [], env: process.env }));
const { tools } = await client.listTools();
const tool = tools.find((tool) => tool.name === 's__read_text_file');
console.log('promises', Object.keys(tool.outputSchema.properties));
const result = await client.callTool({ name: tool.name, arguments: { path } });
const link = result.content.find((block) => block.type === 'resource_link');
const page = await client.readResource({ uri: `${link.uri}?offset=1000000&limit=20` });
console.log(result.structuredContent.content.slice(-40), page.contents[0].text.length);
await client.close();
